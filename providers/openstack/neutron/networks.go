// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"
)

// Network is an external network: one that floating IPs can be taken from.
type Network struct {
	ID   string   `json:"id"`
	Name string   `json:"name"`
	Tags []string `json:"tags"`
}

// NetworkFilter chooses external networks. All fields that are set must match; none set matches every external network.
type NetworkFilter struct {
	ID, Name string
	// Tags are those that a network must all have.
	Tags []string
}

// String returns the filter in words.
func (f NetworkFilter) String() string {
	var words []string
	for _, field := range []struct{ name, value string }{{"id", f.ID}, {"name", f.Name}, {"tags", strings.Join(f.Tags, ",")}} {
		if field.value != "" {
			words = append(words, field.name+" "+field.value)
		}
	}
	return cmp.Or(strings.Join(words, ", "), "any name")
}

var networkList = collection[Network]{call: callNetworks, name: "networks", id: func(n Network) string { return n.ID }}

// Networks returns the external networks that the project may see and that match, in the order of their ids.
func (c *Client) Networks(ctx context.Context, filter NetworkFilter) ([]Network, error) {
	return networkList.list(ctx, c, given(url.Values{
		"router:external": {"true"}, "id": {filter.ID}, "name": {filter.Name}, "tags": {strings.Join(filter.Tags, ",")},
	}))
}

// given returns the query without the filters that are empty.
func given(query url.Values) url.Values {
	maps.DeleteFunc(query, func(_ string, values []string) bool { return values[0] == "" })
	return query
}

// FindNetwork returns the one external network that matches. None is NotFound; several are Invalid, with names and ids of up to five.
func (c *Client) FindNetwork(ctx context.Context, filter NetworkFilter) (Network, error) {
	found, err := c.Networks(ctx, filter)
	switch {
	case err != nil:
		return Network{}, err
	case len(found) == 0:
		return Network{}, &Error{Call: callNetworks, Kind: NotFound, Message: fmt.Sprintf("no external network of %s is visible", filter)}
	case len(found) > 1:
		return Network{}, &Error{Call: callNetworks, Kind: Invalid, several: true, Message: shorten(fmt.Sprintf(
			"%d external networks match %s: %s; choose one by id", len(found), filter, namesOf(found)))}
	}
	return found[0], nil
}

// IsAmbiguous says whether an error is FindNetwork's because several networks match.
func IsAmbiguous(err error) bool {
	var fault *Error
	return errors.As(err, &fault) && fault.several
}

const networksShown = 5

func namesOf(found []Network) string {
	shown := found[:min(len(found), networksShown)]
	names := make([]string, 0, len(shown))
	for _, n := range shown {
		names = append(names, fmt.Sprintf("%s (%s)", n.Name, n.ID))
	}
	return strings.Join(names, ", ")
}

// Subnet is a subnet of an external network.
type Subnet struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	NetworkID string `json:"network_id"`
}

var subnetList = collection[Subnet]{call: callSubnets, name: "subnets", id: func(s Subnet) string { return s.ID }}

// Subnet returns the one subnet of a network with that id and name; one of the two may be empty. None is NotFound: an ordinary
// project cannot see the subnets of an external network that another project owns, although it may use one by its id. Several are
// Invalid.
func (c *Client) Subnet(ctx context.Context, networkID, id, name string) (Subnet, error) {
	found, err := subnetList.list(ctx, c, given(url.Values{"network_id": {networkID}, "id": {id}, "name": {name}}))
	switch {
	case err != nil:
		return Subnet{}, err
	case len(found) == 0:
		return Subnet{}, &Error{Call: callSubnets, Kind: NotFound, Message: "no such subnet of network " + networkID + " is visible to the project"}
	case len(found) > 1:
		return Subnet{}, &Error{Call: callSubnets, Kind: Invalid, Message: "several subnets of network " + networkID + " match; choose one by id"}
	}
	return found[0], nil
}
