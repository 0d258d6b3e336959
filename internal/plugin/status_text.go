// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

const (
	// shownOfStatus is how many pools or claims a line of the status names.
	shownOfStatus = 5
	notReady      = "not ready"
)

func (o *options) printStatus(s *Status) error {
	if isObject(o.format) {
		if err := printObject(o.stdout, o.format, s); err != nil {
			return err
		}
	} else {
		printGaps(o.stderr, s.Gaps)
		o.printStatusLines(s)
	}
	switch {
	case s.needsAttention():
		return badNews
	case len(s.Gaps) > 0:
		return forbidden("nothing needs attention of what you may see, which is not all")
	}
	return nil
}

func (o *options) printStatusLines(s *Status) {
	line := func(isBad bool, name, format string, args ...any) {
		padded := fmt.Sprintf("%-10s", name)
		if isBad && o.painted {
			padded = colored(red, padded)
		}
		fmt.Fprintf(bare(o.stdout), "%s %s\n", padded, visible(fmt.Sprintf(format, args...)))
	}
	for i := range s.Managers {
		m := &s.Managers[i]
		line(m.isBad(), "managers", "%s", o.managersText(m))
	}
	if len(s.Managers) == 0 {
		line(s.IsWeirMissing, "managers", "none are seen in namespace %s; --weir-namespace names another", s.WeirNamespace)
	}
	line(s.Claims.Oldest != nil, "claims", "%s", o.claimsText(&s.Claims))
	line(len(s.Pools.Exhausted)+len(s.Pools.NotReady) > 0, "pools", "%d: %s, %s, %s, %d delegated", s.Pools.Count,
		poolsText("exhausted", s.Pools.Exhausted), poolsText("nearly full", s.Pools.NearlyFull), poolsText(notReady, s.Pools.NotReady),
		s.Pools.DelegatedCount)
	line(len(s.Conflicts) > 0, "conflicts", "%s", conflictsText(s.Conflicts))
	line(false, "kept", "%s", o.keptText(&s.Records))
	if c := s.Claims.Oldest; c != nil {
		fmt.Fprintf(o.stdout, "Needs attention: kubectl weir why -n %s %s.%s/%s\n", c.Namespace, strings.ToLower(c.Kind), c.APIGroup, c.Name)
	}
}

func (o *options) age(since time.Time) string { return duration.HumanDuration(o.now().Sub(since)) }

func (o *options) managersText(m *StatusManagers) string {
	text := fmt.Sprintf("%s/%s %s: %d of %d ready", m.Namespace, m.Name, cmp.Or(m.Version, "of unknown version"), m.ReadyCount, m.WantedCount)
	switch {
	case m.Leader == "":
		text += ", no leader is seen"
	case m.LeaseExpired:
		text += fmt.Sprintf(", none leads: the lease of %s is %s old", m.Leader, o.age(m.LeaseRenewed))
	default:
		text += fmt.Sprintf(", %s leads for %s, its lease is %s old", m.Leader, o.age(m.LeaderSince), o.age(m.LeaseRenewed))
	}
	if !m.CertificateUntil.IsZero() {
		text += ", webhook certificate good for " + duration.HumanDuration(m.CertificateUntil.Sub(o.now()))
	}
	return text
}

func (o *options) claimsText(c *StatusClaims) string {
	text := fmt.Sprintf("%d answered, %d waiting", c.AnsweredCount, c.WaitingCount)
	reasons := make([]string, 0, shownOfStatus)
	for _, w := range c.Waiting[:min(shownOfStatus, len(c.Waiting))] {
		reasons = append(reasons, fmt.Sprintf("%d %s (%s)", w.Count, w.Reason, w.Pool))
	}
	if more := len(c.Waiting) - len(reasons); more > 0 {
		reasons = append(reasons, fmt.Sprintf("%d reasons and pools more", more))
	}
	if len(reasons) > 0 {
		text += ": " + strings.Join(reasons, ", ")
	}
	if c.Oldest != nil {
		text += fmt.Sprintf("; the oldest for %s: %s", o.age(c.OldestSince), c.Oldest)
	}
	return text
}

func poolsText(what string, pools []StatusPool) string {
	names := make([]string, 0, shownOfStatus)
	for _, p := range pools[:min(shownOfStatus, len(pools))] {
		text := fmt.Sprintf("%s of %s free", cmp.Or(p.Available, "?"), cmp.Or(p.Total, "?"))
		if what == notReady {
			text = p.State
		}
		names = append(names, p.Name+": "+text)
	}
	text := fmt.Sprintf("%d %s", len(pools), what)
	if len(names) > 0 {
		text += " (" + strings.Join(names, ", ") + ")"
	}
	return text
}

func conflictsText(claims []survey.Object) string {
	names := make([]string, 0, shownOfStatus)
	for _, c := range claims[:min(shownOfStatus, len(claims))] {
		names = append(names, c.String())
	}
	return strings.TrimSpace(fmt.Sprintf("%d  %s", len(claims), strings.Join(names, ", ")))
}

func (o *options) keptText(r *StatusRecords) string {
	text := fmt.Sprintf("%d retained", r.RetainedCount)
	if oldest := r.OldestRetained; oldest != nil {
		text += fmt.Sprintf(" (the oldest for %s: %s for %s)", o.age(oldest.ReleasedAt), oldest.Prefix, oldest.For)
	}
	return text + fmt.Sprintf(", %d cooling, %d for what has moved", r.CoolingCount, r.MovedCount)
}
