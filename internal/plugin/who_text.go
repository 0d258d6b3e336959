// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

// shownWithin is how many of the records in a prefix are shown.
const shownWithin = 10

// subject writes an address without its length.
func subject(prefix netip.Prefix) string {
	if prefix.IsSingleIP() {
		return prefix.Addr().String()
	}
	return prefix.String()
}

func (o *options) printHolders(w *Who) {
	for i := range w.found.Holders {
		o.printHolder(w.found.Asked, &w.found.Holders[i])
	}
	o.printWithin(w.found)
	if w.found.MayHide && len(w.found.Holders) == 0 {
		return // the error says so
	}
	for _, p := range w.found.Unheld {
		fmt.Fprintf(o.stdout, "Not in use: %s%s, in %s\n", subject(w.found.Asked), inSpace(p.Space), survey.Name(p.Ref))
	}
	if len(w.found.Unheld)+len(w.found.Holders)+len(w.found.Within) == 0 {
		fmt.Fprintf(o.stdout, "Not in use: %s, in no pool%s\n", subject(w.found.Asked), thatIsSeen(w.Gaps))
	}
}

func thatIsSeen(gaps []survey.Gap) string {
	if len(gaps) == 0 {
		return ""
	}
	return " that you may see"
}

func inSpace(space string) string {
	if space == "" {
		return ""
	}
	return " of address space " + space
}

func (o *options) printHolder(asked netip.Prefix, h *survey.Holder) {
	fmt.Fprintf(o.stdout, "%s in address space %s %s\n", subject(asked), h.Space, o.verdict(asked, h))
	line := func(name, format string, args ...any) {
		fmt.Fprintf(o.stdout, "  %-7s %s\n", name, fmt.Sprintf(format, args...))
	}
	line(nameOf(h), "%s   %s", survey.ClaimName(h.Claim), objectState(h))
	if owners := h.Object.Owners; len(owners) > 0 {
		names := make([]string, 0, len(owners))
		for _, owner := range owners {
			names = append(names, owner.Kind+" "+owner.Name)
		}
		line("owners", "%s", strings.Join(names, " < "))
	}
	if a := h.Object.Address; a != nil && !h.IsBlock() {
		line("answer", "%s", answerText(a))
	}
	line("record", "IPAllocation %s/%s   %s", h.Namespace, h.Name, h.State)
	if len(h.Pools) > 0 {
		names := make([]string, 0, len(h.Pools))
		for _, p := range h.Pools {
			names = append(names, survey.Name(p.Ref)+" "+p.Block)
		}
		line("pool", "%s", strings.Join(names, " < "))
	} else {
		line("pool", "%s", survey.Name(h.Pool))
	}
	if text := o.around(h); text != "" {
		line("around", "%s", text)
	}
}

func nameOf(h *survey.Holder) string {
	if h.IsBlock() {
		return "for"
	}
	return "claim"
}

func objectState(h *survey.Holder) string {
	switch h.Object.Presence {
	case survey.Gone:
		return "gone"
	case survey.Replaced:
		return "gone; another one has its name"
	case survey.Hidden:
		return "not shown"
	default:
		return cmp.Or(h.Object.State, "without condition Ready")
	}
}

func answerText(a *survey.Address) string {
	text := a.Address
	if a.Object != nil {
		text = a.Object.String() + ": " + text
	}
	if a.Gateway != "" {
		text += ", gateway " + a.Gateway
	}
	if len(a.DNSServers) > 0 {
		text += ", DNS " + strings.Join(a.DNSServers, ", ")
	}
	return text
}

// verdict says what a record means for what is asked for.
func (o *options) verdict(asked netip.Prefix, h *survey.Holder) string {
	text := "is "
	if h.Prefix != asked {
		text = fmt.Sprintf("lies in %s, ", h.Prefix)
	}
	switch {
	case h.Purpose == ipamv1.HandBackPurpose:
		return text + "handed back to the hub since " + o.moment(h.Created)
	case h.State == ipamv1.CoolingState:
		return text + "cooling since " + o.moment(h.ReleasedAt) + o.until(freeAt(&h.Record, h.Pools))
	case h.State == ipamv1.RetainedState:
		return text + "retained since " + o.moment(h.ReleasedAt) + " for the next claim of the name"
	case h.State == ipamv1.MovedState:
		return text + "held for what has moved to another cluster, since " + o.moment(h.Created)
	case h.Member != "":
		return text + "delegated to " + h.Member + " since " + o.moment(h.Created)
	case h.IsBlock():
		return text + "carved for a pool since " + o.moment(h.Created)
	}
	return text + "held since " + o.moment(h.Created)
}

// moment writes a time, and how long ago it was.
func (o *options) moment(t time.Time) string {
	return fmt.Sprintf("%s (%s)", t.UTC().Format("2006-01-02 15:04"), duration.HumanDuration(o.now().Sub(t)))
}

// until writes when what cools down is free.
func (o *options) until(free time.Time) string {
	left := free.Sub(o.now())
	switch {
	case free.IsZero():
		return ""
	case left <= 0:
		return ", and may be handed out again"
	}
	return ", for " + duration.HumanDuration(left) + " more"
}

// around writes the nearest records of the pool, and whether it has anything left.
func (o *options) around(h *survey.Holder) string {
	var parts []string
	for _, r := range []*survey.Record{h.Before, h.After} {
		if r != nil {
			parts = append(parts, o.neighbour(r, h.Pools))
		}
	}
	if len(h.Pools) > 0 && h.Pools[0].Capacity.Available == "0" {
		parts = append(parts, "nothing in "+h.Pools[0].Block+" is free")
	}
	return strings.Join(parts, ", ")
}

func (o *options) neighbour(r *survey.Record, pools []*survey.Pool) string {
	text := subject(r.Prefix) + " "
	switch {
	case r.State == ipamv1.CoolingState:
		return text + "cools" + o.until(freeAt(r, pools))
	case r.IsBlock():
		return text + "carved for " + survey.ClaimName(r.Claim)
	case r.State == ipamv1.RetainedState:
		return text + "retained for " + survey.ClaimName(r.Claim)
	case r.State == ipamv1.MovedState:
		return text + "moved with " + survey.ClaimName(r.Claim)
	}
	return text + "held by " + survey.ClaimName(r.Claim)
}

// printWithin prints the first records that lie in a prefix.
func (o *options) printWithin(found *survey.Whereabouts) {
	if len(found.Within) == 0 {
		return
	}
	fmt.Fprintf(o.stdout, "In %s are %d records:\n", found.Asked, len(found.Within))
	for i := range found.Within[:min(shownWithin, len(found.Within))] {
		fmt.Fprintf(o.stdout, "  %s, of address space %s\n", o.neighbour(&found.Within[i], nil), found.Within[i].Space)
	}
	if more := len(found.Within) - shownWithin; more > 0 {
		fmt.Fprintf(o.stdout, "  and %d more; -o json has all\n", more)
	}
}
