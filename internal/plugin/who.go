// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

// Who is what the command who prints as JSON and YAML.
type Who struct {
	Header `json:",inline"`
	// Gaps are what the user may not see.
	Gaps []survey.Gap `json:"gaps"`
	// Prefix is what was asked for; an address is a /32 or /128.
	Prefix string `json:"prefix"`
	// Holders are the records that contain it. Several are in different address spaces, or conflict.
	Holders []WhoHolder `json:"holders"`
	// Within are records that lie in it.
	Within []WhoRecord `json:"within,omitempty"`
	// Unheld are pools that it lies in, and in whose address spaces nothing that may be seen holds it.
	Unheld []WhoPool `json:"unheld,omitempty"`

	found *survey.Whereabouts
}

// WhoRecord is a record of the ledger.
type WhoRecord struct {
	Namespace    string `json:"namespace,omitempty"`
	Name         string `json:"name"`
	Prefix       string `json:"prefix"`
	AddressSpace string `json:"addressSpace"`
	// For is the claim, or the pool that the block was carved for.
	For        survey.Object            `json:"for"`
	Purpose    ipamv1.AllocationPurpose `json:"purpose"`
	State      ipamv1.AllocationState   `json:"state"`
	Created    time.Time                `json:"created"`
	ReleasedAt time.Time                `json:"releasedAt,omitzero"`
}

// WhoHolder is a record with what it is for.
type WhoHolder struct {
	WhoRecord   `json:",inline"`
	DelegatedTo string `json:"delegatedTo,omitempty"`
	// ObjectPresence is whether what the record is for is there: Present, Gone, Replaced (another one
	// has the name) or Hidden (the user may not see it).
	ObjectPresence survey.Presence `json:"objectPresence"`
	// ObjectState is the reason of its condition Ready.
	ObjectState string          `json:"objectState,omitempty"`
	Owners      []survey.Object `json:"owners,omitempty"`
	Answer      *survey.Address `json:"answer,omitempty"`
	// FreeAt is when what cools down may be handed out again.
	FreeAt time.Time `json:"freeAt,omitzero"`
	// Pools lead from the record's pool up.
	Pools  []WhoPool  `json:"pools,omitempty"`
	Before *WhoRecord `json:"before,omitempty"`
	After  *WhoRecord `json:"after,omitempty"`
}

// WhoPool is a pool.
type WhoPool struct {
	survey.Object `json:",inline"`
	AddressSpace  string `json:"addressSpace,omitempty"`
	Block         string `json:"block,omitempty"`
}

func whoCommand(o *options) *cobra.Command {
	var around bool
	cmd := &cobra.Command{
		Use:   "who ADDRESS|CIDR",
		Short: "Show what an address or prefix is in use for",
		Long: "Show what an address or prefix is in use for: claim, owners, answer, record, pools and neighbours.\n" +
			"Exit code 1 means that it is in no use.\n\n" + exitCodes,
		Example: "  kubectl weir who 10.0.0.17\n  kubectl weir who 10.0.64.0/26 -o json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			asked, err := parsePrefix(args[0])
			if err != nil {
				return err
			}
			namespace, _, err := o.contextNamespace()
			if err != nil {
				return err
			}
			s, err := o.survey(survey.Scope{Fallback: namespace})
			if err != nil {
				return err
			}
			neighbours := survey.FewNeighbours
			if around {
				neighbours = survey.AllNeighbours
			}
			found, err := s.Who(cmd.Context(), asked, neighbours)
			if err != nil {
				return err
			}
			return o.printWho(who(found, s.Gaps().List()))
		},
	}
	cmd.Flags().BoolVar(&around, "around", false, "Show neighbours in pools of 5000 claims and more, too")
	return cmd
}

// parsePrefix reads an address or a prefix. Bits beyond its length do not matter.
func parsePrefix(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		address = address.Unmap().WithZone("")
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%q is neither an address nor a prefix; write 10.0.0.17 or 10.0.64.0/26", text)
	}
	return prefix.Masked(), nil
}

// who puts what was found into the object that is printed.
func who(found *survey.Whereabouts, gaps []survey.Gap) *Who {
	w := &Who{Header: header("Who"), Gaps: gaps, Prefix: found.Asked.String(), Holders: []WhoHolder{}, found: found}
	for i := range found.Holders {
		w.Holders = append(w.Holders, whoHolder(&found.Holders[i]))
	}
	for i := range found.Within {
		w.Within = append(w.Within, whoRecord(&found.Within[i]))
	}
	w.Unheld = whoPools(found.Unheld)
	return w
}

func whoRecord(r *survey.Record) WhoRecord {
	return WhoRecord{
		Namespace: r.Namespace, Name: r.Name, Prefix: r.Prefix.String(), AddressSpace: r.Space,
		For:     survey.Object{APIGroup: r.Claim.APIGroup, Kind: r.Claim.Kind, Namespace: r.Claim.Namespace, Name: r.Claim.Name},
		Purpose: r.Purpose, State: r.State, Created: r.Created, ReleasedAt: r.ReleasedAt,
	}
}

func whoHolder(h *survey.Holder) WhoHolder {
	w := WhoHolder{
		WhoRecord: whoRecord(&h.Record), DelegatedTo: h.Member, ObjectPresence: h.Object.Presence, ObjectState: h.Object.State,
		Owners: h.Object.Owners, Answer: h.Object.Address, Pools: whoPools(h.Pools), FreeAt: freeAt(&h.Record, h.Pools),
	}
	if h.Before != nil {
		before := whoRecord(h.Before)
		w.Before = &before
	}
	if h.After != nil {
		after := whoRecord(h.After)
		w.After = &after
	}
	return w
}

func whoPools(pools []*survey.Pool) []WhoPool {
	all := make([]WhoPool, 0, len(pools))
	for _, p := range pools {
		group := p.Ref.GroupKind()
		all = append(all, WhoPool{
			Object:       survey.Object{APIGroup: group.Group, Kind: group.Kind, Namespace: p.Ref.Namespace, Name: p.Ref.Name},
			AddressSpace: p.Space, Block: p.Block,
		})
	}
	return all
}

// freeAt is when what cools down may be handed out again; zero if it does not, or the pool is not
// known.
func freeAt(r *survey.Record, pools []*survey.Pool) time.Time {
	if r.State != ipamv1.CoolingState || r.ReleasedAt.IsZero() || len(pools) == 0 {
		return time.Time{}
	}
	return r.ReleasedAt.Add(pools[0].Cooldown)
}

func (o *options) printWho(w *Who) error {
	switch {
	case isObject(o.format):
		if err := printObject(o.stdout, o.format, w); err != nil {
			return err
		}
	case o.format == formatName:
		for _, h := range w.Holders {
			fmt.Fprintf(o.stdout, "ipallocation.%s/%s\n", ipamv1.GroupVersion.Group, h.Name)
		}
	default:
		printGaps(o.stderr, w.Gaps)
		o.printHolders(w)
	}
	switch {
	case len(w.Holders)+len(w.Within) > 0:
		return nil
	case w.found.MayHide:
		return forbidden("%s may be in use; you may not see all IPAllocations; ask for the right to list them", subject(w.found.Asked))
	}
	return badNews
}
