// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pile

// grain is what the room for a text is rounded up to.
const grain = 4

// Texts is a set of numbered texts. Texts of about the same length share
// chunks, and a number says nothing without that length. The zero value is empty.
type Texts struct {
	shelves map[int]*shelf
}

// shelf keeps texts of up to width bytes.
type shelf struct {
	width   int
	numbers numbers
	chunks  [][]byte
}

// Add keeps a copy of the text and returns its number.
func (t *Texts) Add(text []byte) uint32 {
	if len(text) == 0 {
		return 0
	}
	s := t.shelf(len(text))
	i := s.numbers.take()
	if chunk, _ := place(i); int(chunk) == len(s.chunks) {
		s.chunks = append(s.chunks, make([]byte, s.width*capacity(len(s.chunks))))
	}
	copy(s.at(i), text)
	return i
}

// At returns the text of that number and length. It must not be changed, and
// is good until the number is given back.
func (t *Texts) At(i uint32, length int) []byte {
	if length == 0 {
		return nil
	}
	return t.shelf(length).at(i)[:length:length]
}

// Drop gives the number of a text of that length back.
func (t *Texts) Drop(i uint32, length int) {
	if length > 0 {
		t.shelf(length).numbers.give(i)
	}
}

func (t *Texts) shelf(length int) *shelf {
	width := (length + grain - 1) / grain * grain
	s, ok := t.shelves[width]
	if !ok {
		if t.shelves == nil {
			t.shelves = map[int]*shelf{}
		}
		s = &shelf{width: width}
		t.shelves[width] = s
	}
	return s
}

func (s *shelf) at(i uint32) []byte {
	chunk, offset := place(i)
	from := int(offset) * s.width
	return s.chunks[chunk][from : from+s.width]
}
