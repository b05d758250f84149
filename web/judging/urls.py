"""Address of the page on judging."""

from django.urls import path

from web.judging import views

urlpatterns = [path("judging/", views.judging, name="judging")]
