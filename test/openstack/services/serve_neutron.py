# Copyright 2026 The Weir Authors.
# SPDX-License-Identifier: Apache-2.0

"""Makes Neutron's tables and serves its API: serve_neutron.py DATABASE --config-file CONFIG.

The tables are made from the models, as Neutron's own unit tests make them: the migrations do not run on SQLite. What the
neutron-server command starts besides the API (RPC and periodic workers) is for agents, of which there are none.
"""

from neutron.cmd.eventlet import server as _patches_first  # noqa: F401

import signal  # noqa: E402
import sys  # noqa: E402

import sqlalchemy  # noqa: E402
from neutron import server  # noqa: E402
from neutron import service  # noqa: E402
from neutron.db.migration.models import head  # noqa: E402

database = sqlalchemy.create_engine("sqlite:///" + sys.argv.pop(1))
with database.connect() as connection:
    connection.exec_driver_sql("pragma journal_mode=wal")  # A reader must not hold up a writer.
head.get_metadata().create_all(database)
database.dispose()


def serve():
    """Serves in this process: api_workers is 0."""
    api = service.serve_wsgi(service.NeutronApiService)
    # oslo.service has caught TERM for a launcher that does not run in this mode.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    api.wait()


server.boot_server(serve)
