"""Users in the admin."""

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin

from web.accounts.models import User

admin.site.register(User, UserAdmin)
