"""Addresses of the leaderboards."""

from django.urls import path

from web.boards import views

urlpatterns = [
    path("problems/<slug:slug>/leaderboard/", views.leaderboard, name="leaderboard"),
]
