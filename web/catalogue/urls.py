"""Addresses of the catalogue."""

from django.urls import path

from web.catalogue import views

urlpatterns = [
    path("", views.catalogue, name="catalogue"),
    path("problems/<slug:slug>/", views.problem, name="problem"),
    path("problems/<slug:slug>/roofline/", views.roofline_plot, name="roofline"),
    path("problems/<slug:slug>/solutions/", views.solutions, name="solutions"),
]
