"""Addresses of the lessons."""

from django.urls import path

from web.lessons import views

urlpatterns = [
    path("lessons/", views.lessons, name="lessons"),
    path("lessons/<slug:slug>/", views.lesson, name="lesson"),
    path("lessons/<slug:slug>/code.py", views.code, name="lesson_code"),
]
