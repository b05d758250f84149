"""The judge, and the Celery worker that brings it submissions: no web framework, no state."""
