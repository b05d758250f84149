"""Addresses of the look inside a submission."""

from django.urls import path

from web.inspection import map_views, views

urlpatterns = [
    path("submissions/<uuid:pk>/inside/", views.inside, name="inside"),
    path("submissions/<uuid:pk>/inside/figures/", views.figures, name="inside_figures"),
    path("submissions/<uuid:pk>/inside/compare/", views.compare, name="inside_compare"),
    path("submissions/<uuid:pk>/inside/map/", map_views.inside_map, name="inside_map"),
    path(
        "problems/<slug:slug>/solutions/<slug:file>/map/",
        map_views.reference_map,
        name="reference_map",
    ),
]
