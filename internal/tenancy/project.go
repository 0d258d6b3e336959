// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

// Project is whom a namespace or pool belongs to. The zero value is nobody.
//
// Use Sees to compare two: nobody is not the same project as nobody.
type Project struct {
	kind kind
	name string
}

type kind int

const (
	// nobody: a GlobalIPPool without label.
	nobody kind = iota
	// labelled: name is the value of the label ipam.weir.dev/project.
	labelled
	// alone: a namespace without label is a project of its own, whatever values labels have.
	alone
)

// labelledAs returns the project of a label's value. An empty one says nothing: it is nobody's.
func labelledAs(value string) Project {
	if value == "" {
		return Project{}
	}
	return Project{labelled, value}
}

// Sees says whether objects of the other project may be named to this one: only those of the very same. Nobody sees nothing,
// and what is nobody's is seen by none.
func (p Project) Sees(other Project) bool { return p.kind != nobody && p == other }
