"""The version of Backpass: of the site, and of each runner."""

VERSION = "0.1.0"
