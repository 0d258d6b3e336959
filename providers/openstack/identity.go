// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"fmt"
	"regexp"
	"strings"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
)

// A description is one of
//
//	weir/1/<pool key>/<claim UID>/<namespace>/<name>      a claim's, cut to 255 characters
//	weir/1/<pool key>/<claim UID>/+/<namespace>/<name>    the same, and not made by Weir
//	weir/1/<pool key>/-                                   free
//
// Key and owner decide, and whether Weir made it: that is written down because a pool may stop naming
// what it was lent. What follows is for people who read a list of floating IPs.
const (
	descriptionPrefix = "weir/1/"
	// free is the owner of a floating IP that is no claim's.
	free = "-"
	// lent marks what Weir did not make. It can be no namespace.
	lent = "+"
)

// identity is what a description says.
type identity struct {
	// key is the pool's.
	key string
	// owner is the UID of a claim, or free.
	owner string
	// isLent: it was there before Weir, as one of a pool's preAllocatedFloatingIPs.
	isLent bool
}

// fieldForm is what key and owner may be: two of them always fit into a description, and neither
// ends early.
var fieldForm = regexp.MustCompile(`^[!-.0-~]{1,120}$`)

// describe returns the description of what a claim of the pool with that key has.
func describe(key string, claim ipamv1.ClaimReference) (string, error) {
	return describeAs(key, claim, claim.UID)
}

// describeLent returns the description of what a claim has that Weir did not make.
func describeLent(key string, claim ipamv1.ClaimReference) (string, error) {
	return describeAs(key, claim, claim.UID+"/"+lent)
}

// describeAll returns both.
func describeAll(key string, claim ipamv1.ClaimReference) ([]string, error) {
	made, err := describe(key, claim)
	if err != nil {
		return nil, err
	}
	borrowed, err := describeLent(key, claim)
	return []string{made, borrowed}, err
}

func describeAs(key string, claim ipamv1.ClaimReference, owner string) (string, error) {
	if !fieldForm.MatchString(key) || !fieldForm.MatchString(claim.UID) || claim.UID == free {
		return "", fmt.Errorf("no floating IP can be described as that of a claim with UID %q, of the pool with key %q", claim.UID, key)
	}
	text := []rune(descriptionPrefix + strings.Join([]string{key, owner, claim.Namespace, claim.Name}, "/"))
	return string(text[:min(len(text), neutron.MaxDescription)]), nil
}

// describeFree returns the description of what is free in the pool with that key.
func describeFree(key string) string { return descriptionPrefix + key + "/" + free }

// parse reads a description; false if it is not of Weir.
func parse(description string) (identity, bool) {
	rest, isOurs := strings.CutPrefix(description, descriptionPrefix)
	fields := strings.Split(rest, "/")
	if !isOurs || len(fields) < 2 || !fieldForm.MatchString(fields[0]) || !fieldForm.MatchString(fields[1]) {
		return identity{}, false
	}
	return identity{key: fields[0], owner: fields[1], isLent: len(fields) > 2 && fields[2] == lent}, true
}

// isCut reports whether the end of a claim's name may be missing in the description that it was read from.
func isCut(key string, claim ipamv1.ClaimReference) bool {
	return len(descriptionPrefix+key+claim.UID+claim.Namespace+claim.Name)+len("/+///") >= neutron.MaxDescription
}

// claimIn returns the claim that a description of Weir names. The end of its name may be missing.
func claimIn(description string) ipamv1.ClaimReference {
	id, isWeirs := parse(description)
	if !isWeirs || id.owner == free {
		return ipamv1.ClaimReference{}
	}
	fields := strings.Split(strings.TrimPrefix(description, descriptionPrefix), "/")[2:]
	if id.isLent {
		fields = fields[1:]
	}
	claim := ipamv1.ClaimReference{UID: id.owner}
	if len(fields) > 0 {
		claim.Namespace, claim.Name = fields[0], strings.Join(fields[1:], "/")
	}
	return claim
}
