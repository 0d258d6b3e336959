// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

// Glyphs are what trees and bars are drawn with.
type Glyphs struct {
	// own begins the line of an entry, below those of what is under it; of the last entry and of
	// the others.
	ownLast, belowLast, own, below string
	// held, carved, kept and free are the cells of a bar.
	held, carved, kept, free string
}

var (
	// Unicode draws with box and block characters.
	Unicode = Glyphs{"└─ ", "   ", "├─ ", "│  ", "█", "▓", "▒", "░"}
	// ASCII draws with ASCII characters.
	ASCII = Glyphs{"`- ", "   ", "|- ", "|  ", "#", "=", "~", "."}
)

// Node is a line of a table that is drawn as a tree, with what is below it.
type Node struct {
	// Cells are the columns. The tree is drawn before the first.
	Cells []string
	Below []*Node
}

// Draw returns the lines of the nodes and of all below them.
func Draw(nodes []*Node, glyphs Glyphs) [][]string {
	d := drawing{glyphs: glyphs}
	for _, root := range nodes {
		d.add(root, "", "")
	}
	return d.rows
}

type drawing struct {
	glyphs Glyphs
	rows   [][]string
}

// add draws a node and everything below it. The lead is what precedes its own line, the margin what
// precedes those below.
func (d *drawing) add(n *Node, lead, margin string) {
	row := append([]string{lead + n.Cells[0]}, n.Cells[1:]...)
	d.rows = append(d.rows, row)
	for i, child := range n.Below {
		own, below := d.glyphs.branch(i == len(n.Below)-1)
		d.add(child, margin+own, margin+below)
	}
}

// branch returns what is drawn before an entry, and before everything below it.
func (g Glyphs) branch(last bool) (own, below string) {
	if last {
		return g.ownLast, g.belowLast
	}
	return g.own, g.below
}
