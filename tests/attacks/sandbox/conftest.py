from tests.sandbox.support import nothing_is_left, sandbox

__all__ = ["nothing_is_left", "sandbox"]
