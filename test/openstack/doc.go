// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package openstack runs a real Keystone and a real Neutron for tests, from Debian's packages, on loopback ports.
//
// They have an API and a database (SQLite) each, and nothing else: no agents, no broker, no data plane. So a floating IP that is
// bound to a port stays DOWN. Neutron makes about two floating IPs in a second: do more with package fake.
//
// The packages are python3-keystone and python3-neutron of Debian 12 (OpenStack Zed); "make openstack-packages" installs them.
package openstack
