from tests.sandbox.support import contained, docker_settings, nothing_is_left, sandbox

__all__ = ["contained", "docker_settings", "nothing_is_left", "sandbox"]
