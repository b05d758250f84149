"""Addresses of submissions."""

from django.urls import path

from web.submissions import views

urlpatterns = [
    path("problems/<slug:slug>/submit/", views.submit, name="submit"),
    path("submissions/", views.my_submissions, name="my_submissions"),
    path("submissions/<uuid:pk>/", views.submission, name="submission"),
    path("submissions/<uuid:pk>/status/", views.status, name="submission_status"),
]
