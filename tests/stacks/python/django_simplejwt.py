# Django REST framework with simplejwt and a JWK_URL, as "Settings" and "Stateless User Authentication" in its documentation.
import os
import sys

from django.conf import settings

settings.configure(
    SECRET_KEY="unused",
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "rest_framework", "rest_framework_simplejwt"],
    REST_FRAMEWORK={
        "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework_simplejwt.authentication.JWTStatelessUserAuthentication"],
        "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    },
    SIMPLE_JWT={
        "ALGORITHM": "RS256",
        "JWK_URL": os.environ["JWKS_URI"],
        "AUDIENCE": os.environ["AUDIENCE"],
        "ISSUER": os.environ["ISSUER"],
        "USER_ID_CLAIM": "sub",
        "TOKEN_TYPE_CLAIM": None,
    },
)

import django

django.setup()

from django.core.wsgi import get_wsgi_application
from django.urls import path
from rest_framework.decorators import api_view
from rest_framework.response import Response


@api_view(["GET"])
def messages(request):
    return Response({"hello": request.user.id})


urlpatterns = [path("messages", messages)]
app = get_wsgi_application()
