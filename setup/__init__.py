"""Makes `.venv` with everything Backpass needs.

Standard library only: it runs before anything is installed.
"""
