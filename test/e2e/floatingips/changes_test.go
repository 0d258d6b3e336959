// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package floatingips

import (
	"fmt"
	"net/url"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// misdeeds says which calls and changes there must not have been in the fake: before pools end, a list of more than one claim's floating IPs or of
// more than one address; a change of one that somebody else has, that was bound, or that was not a claim's from its creation on; a deletion of
// what its claim needed still. isReleased says whether the claim of that UID did without a floating IP when there were so many changes.
func (p *project) misdeeds(isReleased func(claim string, f floatingIP, change int) bool) (found []string) {
	calls := p.fake.Calls()
	if p.ending != nil {
		calls = calls[:*p.ending]
	}
	for _, call := range calls {
		query, err := url.ParseQuery(call.Query)
		if isOfOne := query.Get("description") != "" || len(query["floating_ip_address"]) == 1; call.Name == search && (err != nil || !isOfOne) {
			found = append(found, "a list that is not of one claim's: "+call.Query)
		}
	}
	for i, change := range p.fake.Changes() {
		if p.isStranger(change.Before.ID) || p.isStranger(change.After.ID) {
			continue // they are compared as they are
		}
		if why := objection(change.Call, change.Before, change.After); why != "" {
			found = append(found, fmt.Sprintf("change %d, %s: %s: %+v", i, change.Call, why, change))
		}
		_, claim, _, _ := suite.FloatingIPOwner(change.Before)
		if change.Call == deletion && !isReleased(string(claim), change.Before, i) {
			found = append(found, fmt.Sprintf("change %d: %s was deleted, and its claim was not: %+v", i, change.Before.Address, change))
		}
	}
	return found
}

// objection says what is wrong with a change of a floating IP that is no stranger's, whatever its claim is; "" for nothing.
func objection(call string, before, after floatingIP) string {
	_, _, _, wasOwned := suite.FloatingIPOwner(before)
	_, _, _, isOwned := suite.FloatingIPOwner(after)
	switch {
	case call == "Bind", call == "Unbind":
		return ""
	case before.PortID != "":
		return "it was bound"
	case call == creation && !isOwned:
		return "it is no claim's from its creation on"
	case call == deletion && !wasOwned:
		return "it was no claim's"
	case call != creation && call != deletion:
		return "nobody has reason to"
	}
	return ""
}

// creations returns the place of each creation among the changes, by id.
func (p *project) creations() map[string]int {
	made := map[string]int{}
	for i, change := range p.fake.Changes() {
		if change.Call == creation {
			made[change.After.ID] = i
		}
	}
	return made
}
