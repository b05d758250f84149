"""Addresses of the look inside a submission."""

from django.urls import path

from web.inspection import views

urlpatterns = [
    path("submissions/<uuid:pk>/inside/", views.inside, name="inside"),
    path("submissions/<uuid:pk>/inside/figures/", views.figures, name="inside_figures"),
    path("submissions/<uuid:pk>/inside/compare/", views.compare, name="inside_compare"),
]
