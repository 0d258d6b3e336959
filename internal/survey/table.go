// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// tableAccept asks for a table, and takes a list from who makes none.
const tableAccept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

// columns are what a table of records must have, with where each cell goes.
var columns = map[string]func(*Record, string) error{
	"Name": func(r *Record, text string) error { r.Name = text; return nil },
	"CIDR": func(r *Record, text string) (err error) {
		r.Prefix, err = netip.ParsePrefix(text)
		return err
	},
	"Space":          func(r *Record, text string) error { r.Space = text; return nil },
	"Pool":           func(r *Record, text string) error { r.Pool.Name = text; return nil },
	"PoolNamespace":  func(r *Record, text string) error { r.Pool.Namespace = text; return nil },
	"PoolKind":       func(r *Record, text string) error { r.Pool.Kind = text; return nil },
	"PoolGroup":      func(r *Record, text string) error { r.Pool.APIGroup = text; return nil },
	"Claim":          func(r *Record, text string) error { r.Claim.Name = text; return nil },
	"ClaimNamespace": func(r *Record, text string) error { r.Claim.Namespace = text; return nil },
	"Kind":           func(r *Record, text string) error { r.Claim.Kind = text; return nil },
	"ClaimGroup":     func(r *Record, text string) error { r.Claim.APIGroup = text; return nil },
	"Purpose":        func(r *Record, text string) error { r.Purpose = ipamv1.AllocationPurpose(text); return nil },
	"State":          func(r *Record, text string) error { r.State = ipamv1.AllocationState(text); return nil },
	"Cluster":        func(r *Record, text string) error { r.Cluster = text; return nil },
	"Created":        func(r *Record, text string) (err error) { r.Created, err = parseTime(text); return err },
	"ReleasedAt":     func(r *Record, text string) (err error) { r.ReleasedAt, err = parseTime(text); return err },
}

func parseTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	return time.Parse(time.RFC3339, text)
}

// readTable passes on the rows of a table without objects, and notes its revision. It returns false, and passes on
// nothing, if the table lacks a column, or is none.
func readTable(body io.Reader, revision *string, each func(Record)) (hasColumns bool, err error) {
	d := json.NewDecoder(body)
	var setters []func(*Record, string) error
	err = readFields(d, func(name string) error {
		switch name {
		case "metadata":
			var list metav1.ListMeta
			err = d.Decode(&list)
			*revision = list.ResourceVersion
			return err
		case "columnDefinitions":
			setters, err = readColumns(d)
			hasColumns = setters != nil
			return err
		case "rows":
			if !hasColumns {
				return errNoColumns
			}
			return readElements(d, func() error { return readRow(d, setters, each) })
		case "items":
			return errNoColumns
		}
		return skip(d)
	})
	if errors.Is(err, errNoColumns) {
		return false, nil
	}
	return hasColumns, err
}

// errNoColumns ends the reading of a table that will not do.
var errNoColumns = errors.New("the table lacks columns")

// readColumns returns what to do with each cell, nil for nothing; or nil if a column is missing.
func readColumns(d *json.Decoder) ([]func(*Record, string) error, error) {
	var definitions []struct {
		Name string `json:"name"`
	}
	if err := d.Decode(&definitions); err != nil {
		return nil, fmt.Errorf("reading columns: %w", err)
	}
	setters, found := make([]func(*Record, string) error, len(definitions)), 0
	for i, definition := range definitions {
		if setters[i] = columns[definition.Name]; setters[i] != nil {
			found++
		}
	}
	if found != len(columns) {
		return nil, nil
	}
	return setters, nil
}

func readRow(d *json.Decoder, setters []func(*Record, string) error, each func(Record)) error {
	var row struct {
		Cells []any `json:"cells"`
	}
	if err := d.Decode(&row); err != nil {
		return fmt.Errorf("reading a row: %w", err)
	}
	if len(row.Cells) != len(setters) {
		return fmt.Errorf("reading a row: %d cells for %d columns", len(row.Cells), len(setters))
	}
	var record Record
	for i, cell := range row.Cells {
		text, isText := cell.(string)
		if setters[i] == nil || !isText {
			continue
		}
		if err := setters[i](&record, text); err != nil {
			return fmt.Errorf("reading a row: %w", err)
		}
	}
	record.Pool = record.Pool.Canonical()
	each(record)
	return nil
}
