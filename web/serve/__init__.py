"""`python -m web.serve`: the whole site on one machine, web server, workers and judge together.

Two processes stand over everything (see `guard`): an outer one that the operator talks to, and the
supervisor, whose children the services are. Each ends all the rest when the other one dies.
"""
