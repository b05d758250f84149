"""An inspection as one piece of text for a queue: JSON, compressed, in base64, bounded at both ends."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from dataclasses import replace

from wire.inspection import Inspection, Stage
from wire.reading import Unreadable

PACKED_BYTES = 4 << 20
UNPACKED_BYTES = 32 << 20
# Characters of one stage of one kernel for one target: about ten thousand lines.
STAGE_CHARACTERS = 512 << 10
_LEAST = 4 << 10


def pack(inspection: Inspection) -> bytes:
    """`inspection`, compressed. Stages too long are cut, all of them shorter until the whole fits.

    Raises:
        ValueError: it does not fit without any text worth having.
    """
    most = STAGE_CHARACTERS
    while most >= _LEAST:
        plain = json.dumps(_cut(inspection, most).to_json(), allow_nan=False).encode()
        if len(plain) <= UNPACKED_BYTES:
            packed = zlib.compress(plain, 6)
            if len(packed) <= PACKED_BYTES:
                return packed
        most //= 2
    raise ValueError(f"an inspection of {len(inspection.kernels)} kernels is too large to be sent")


def unpack(packed: bytes) -> Inspection:
    """What `pack` packed.

    Raises:
        Unreadable: it is something else, or larger than `pack` makes it.
    """
    if len(packed) > PACKED_BYTES:
        raise Unreadable(f"an inspection is at most {PACKED_BYTES} bytes long, this {len(packed)}")
    decompressor = zlib.decompressobj()
    try:
        plain = decompressor.decompress(packed, UNPACKED_BYTES)
    except zlib.error as error:
        raise Unreadable(f"an inspection cannot be decompressed: {error}") from None
    if not decompressor.eof or decompressor.unused_data:
        raise Unreadable(f"an inspection is cut off, or unpacks to over {UNPACKED_BYTES} bytes")
    try:
        data = json.loads(plain)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"an inspection is no JSON: {error!r:.200}") from None
    return Inspection.from_json(data)


def to_text(packed: bytes) -> str:
    return base64.b64encode(packed).decode()


def from_text(text: str) -> bytes:
    """Raises Unreadable unless `text` is base64 of at most PACKED_BYTES."""
    if len(text) > PACKED_BYTES * 4 // 3 + 4:
        raise Unreadable("an inspection is longer than any that is sent")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise Unreadable(f"an inspection is no base64: {error}") from None


def _cut(inspection: Inspection, most: int) -> Inspection:
    kernels = (k.with_stages(lambda stage: _cut_stage(stage, most)) for k in inspection.kernels)
    return replace(inspection, kernels=tuple(kernels))


def _cut_stage(stage: Stage, most: int) -> Stage:
    """The first lines of the stage in at most `most` characters; a part of the first if it is longer."""
    if len(stage.text) <= most:
        return stage
    end = stage.text.rfind("\n", 0, most) + 1
    text = stage.text[: end or most]
    kept = text.count("\n") + (not text.endswith("\n"))
    left_out = stage.left_out + len(stage.lines) - kept
    return Stage(text, stage.lines[:kept], left_out)
