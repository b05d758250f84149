"""Users in the admin, which people enter by the site's own login."""

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin

from web.accounts.models import User

admin.site.site_header = admin.site.site_title = "Backpass"
# Django's own login form does not count attempts to guess a password; the site's does.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]  # as its documentation says
admin.site.register(User, UserAdmin)
