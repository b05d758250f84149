"""Addresses of the status page."""

from django.urls import path

from web.runners import views

urlpatterns = [
    path("status/", views.status, name="status"),
    path("problems/<slug:slug>/absent/", views.absent_hardware, name="absent_hardware"),
]
