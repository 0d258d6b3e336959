// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"
	"io"
	"strings"
)

// Flags are those of Weir's managers, and the namespace that they run in.
type Flags struct {
	Namespace string

	values map[string]string
}

// usual are the flags of managers that nobody has told otherwise.
var usual = map[string]string{"platform-project": "platform"}

// Value returns the value of a flag, which is "" if it was not given and has no default.
func (f *Flags) Value(name string) string {
	if value, isGiven := f.values[name]; isGiven {
		return value
	}
	return usual[name]
}

// Flags returns those of the Deployment of Weir in its namespace, or the usual ones. That they may not be seen is no gap.
func (s *Survey) Flags(ctx context.Context) (*Flags, error) {
	home, err := s.findHome(ctx)
	if err != nil {
		return nil, err
	}
	quiet := *s
	quiet.gaps, quiet.scope = &Gaps{}, Scope{Only: home.namespace}
	var found []*Flags
	_, err = quiet.list(ctx, deployments, query{labels: managerLabels}, func(body io.Reader) error {
		return readItems(body, func(d *deploymentFields) { found = append(found, d.flags()) })
	})
	if err != nil || len(found) == 0 {
		return &Flags{Namespace: home.namespace}, err
	}
	return found[0], nil
}

// flags are written --name=value.
func (d *deploymentFields) flags() *Flags {
	f := &Flags{Namespace: d.Metadata.Namespace, values: map[string]string{}}
	for _, container := range d.Spec.Template.Spec.Containers {
		for _, arg := range container.Args {
			if name, value, isFlag := strings.Cut(strings.TrimPrefix(arg, "--"), "="); isFlag && container.Name == managerContainer {
				f.values[name] = value
			}
		}
	}
	return f
}
