// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3_test

import (
	"net/netip"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/metal3"
)

func TestAddressName(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.168.0.10":     "prov-192-168-0-10",
		"fd00::a":          "prov-fd00--a",
		"::1":              "prov---1",
		"fd00::":           "prov-fd00",
		"2001:db8:0:1::":   "prov-2001-db8-0-1",
		"FD00:0:0:0::000B": "prov-fd00--b",
	} {
		if got := metal3.AddressName("prov", netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
}

func TestSpace(t *testing.T) {
	t.Parallel()
	pool := &m3v1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "prov"}}
	if got := metal3.Space(pool); got != "metal3/team/prov" {
		t.Errorf("got %s", got)
	}
	pool.Annotations = map[string]string{m3v1.AddressSpaceAnnotation: "site"}
	if got := metal3.Space(pool); got != "site" {
		t.Errorf("got %s", got)
	}
}
