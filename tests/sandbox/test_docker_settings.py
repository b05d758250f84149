from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.docker_settings import Settings


def test_nothing_set_is_an_empty_image_with_the_machines_own_folders():
    settings = Settings.from_environment({})
    assert settings.image is None
    assert settings.bind_trees
    assert settings.devices == ()
    assert settings.runtime is None
    assert settings.folder.is_absolute()


def test_everything_can_be_set():
    settings = Settings.from_environment(
        {
            "BACKPASS_DOCKER_IMAGE": "backpass:1",
            "BACKPASS_DOCKER_DIR": "/srv/jobs",
            "BACKPASS_DOCKER_HOST_DIR": "backpass-jobs",
            "BACKPASS_DOCKER_RUNTIME": "runc",
            "BACKPASS_DOCKER_GPUS": "GPU-1, GPU-2",
            "BACKPASS_DOCKER_CPUS": "1.5",
            "BACKPASS_DOCKER_CPUSET": "2-3",
            "UNRELATED": "x",
        }
    )
    assert settings == Settings(
        image="backpass:1",
        bind_trees=False,
        folder=Path("/srv/jobs"),
        host_folder="backpass-jobs",
        runtime="runc",
        devices=("GPU-1", "GPU-2"),
        cpus=1.5,
        cpuset="2-3",
    )


def test_trees_can_be_bound_into_a_named_image():
    given = {"BACKPASS_DOCKER_IMAGE": "debian:12", "BACKPASS_DOCKER_TREES": "bind"}
    assert Settings.from_environment(given).bind_trees


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BACKPASS_DOCKER_DIR", "relative"),
        ("BACKPASS_DOCKER_TREES", "image"),
        ("BACKPASS_DOCKER_TREES", "elsewhere"),
        ("BACKPASS_DOCKER_CPUS", "many"),
        ("BACKPASS_DOCKER_CPUS", "0"),
        ("BACKPASS_DOCKER_GPUS", "all"),
        ("BACKPASS_DOCKER_GPUS", "0"),
    ],
)
def test_what_cannot_be_is_refused_with_the_variables_name(name: str, value: str):
    with pytest.raises(ValueError, match=name):
        Settings.from_environment({name: value})
