"""Settings of the site under load: ours, with one address more."""

from web.settings import *  # noqa: F403 - that is what settings of a variant are

ROOT_URLCONF = "benchmarks.load_site"
