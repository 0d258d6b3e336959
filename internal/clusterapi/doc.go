// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterapi is Cluster API's form of claims: an IPAddressClaim is answered by an IPAddress of the same name (IPAM provider
// contract, v1beta2). It is the only package of internal that knows these two types.
package clusterapi
