"""The only code of ours that runs inside the sandbox; it imports nothing else of ours."""
