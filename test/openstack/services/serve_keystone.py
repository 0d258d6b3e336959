# Copyright 2026 The Weir Authors.
# SPDX-License-Identifier: Apache-2.0

"""Makes Keystone's database, an administrator and serves: serve_keystone.py CONFIG DATABASE PORT ADMIN_PASSWORD.

One process of green threads: SQLAlchemy's SQLite connections must stay with one thread of the system.
"""

import eventlet

eventlet.monkey_patch()

import os  # noqa: E402
import sqlite3  # noqa: E402
import sys  # noqa: E402
from unittest import mock  # noqa: E402

import eventlet.wsgi  # noqa: E402
from keystone.cmd import bootstrap  # noqa: E402
from keystone.common.sql import upgrades  # noqa: E402
from keystone.server import wsgi  # noqa: E402

config, database, port, password = sys.argv[1:]
sys.argv[1:] = []
os.environ["OS_KEYSTONE_CONFIG_FILES"] = config


def sync():
    """Runs once the configuration is read, before the drivers are loaded."""
    with sqlite3.connect(database) as connection:
        connection.execute("pragma journal_mode=wal")  # A reader must not hold up a writer.
    upgrades.offline_sync_database_to_version()


with mock.patch("keystone.server.flask.core.initialize_application",
                lambda name, config_files, _run=wsgi.flask_core.initialize_application: _run(
                    name=name, post_log_configured_function=sync, config_files=config_files)):
    application = wsgi.initialize_public_application()

with mock.patch.object(bootstrap.backends, "load_backends"):  # They are loaded, and may not be twice.
    first = bootstrap.Bootstrapper()
first.project_name = "admin"
first.admin_username = "admin"
first.admin_password = password
first.admin_role_name = "admin"
first.service_name = "keystone"
first.region_id = "RegionOne"
first.public_url = first.internal_url = first.admin_url = "http://127.0.0.1:%s/v3" % port
first.bootstrap()

one = eventlet.semaphore.Semaphore()


def serve(environ, start_response):
    """Serves one request at a time: one that waits for SQLite's lock would stop the one that has it."""
    with one:
        return application(environ, start_response)


eventlet.wsgi.server(eventlet.listen(("127.0.0.1", int(port))), serve, log_output=False, keepalive=False)
