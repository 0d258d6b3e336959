// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"encoding/json"
	"fmt"
	"io"
)

// readFields calls read for each field of an object, before its value, which read has to consume.
func readFields(d *json.Decoder, read func(name string) error) error {
	if err := expect(d, json.Delim('{')); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return fmt.Errorf("reading a field: %w", err)
		}
		if err = read(fmt.Sprint(name)); err != nil {
			return err
		}
	}
	return expect(d, json.Delim('}'))
}

// readElements calls read before each element of an array, which read has to consume. null has none.
func readElements(d *json.Decoder, read func() error) error {
	token, err := d.Token()
	if err != nil {
		return fmt.Errorf("reading a list: %w", err)
	}
	if token == nil {
		return nil
	}
	if token != json.Delim('[') {
		return fmt.Errorf("reading a list: found %v", token)
	}
	for d.More() {
		if err = read(); err != nil {
			return err
		}
	}
	return expect(d, json.Delim(']'))
}

func expect(d *json.Decoder, want json.Delim) error {
	token, err := d.Token()
	if err != nil {
		return fmt.Errorf("reading %v: %w", want, err)
	}
	if token != want {
		return fmt.Errorf("reading %v: found %v", want, token)
	}
	return nil
}

func skip(d *json.Decoder) error { return d.Decode(&json.RawMessage{}) }

// readItems decodes each item of a list in JSON and passes it on.
func readItems[T any](body io.Reader, each func(*T)) error {
	d := json.NewDecoder(body)
	return readFields(d, func(name string) error {
		if name != "items" {
			return skip(d)
		}
		return readElements(d, func() error {
			item := new(T)
			if err := d.Decode(item); err != nil {
				return fmt.Errorf("reading an item: %w", err)
			}
			each(item)
			return nil
		})
	})
}
