from extension_helpers import get_extensions
from setuptools import setup

setup(ext_modules=get_extensions())
