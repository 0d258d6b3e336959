// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"math/rand/v2"
	"strings"
)

// theme is what a walk has besides claims that come and go.
type theme struct {
	cooldown bool // the pool has one
	restores bool // claims arrive with their answers
	retains  bool // own claims want kept for the next one what they had
	moves    bool // claims move to another cluster, and some come back
	carves   bool // the own claim is a pool, which is carved from the root
}

// cooldown is how often the clock ticks before what a claim has let go of is handed out again.
const cooldown = 2

func (t theme) cooldownTicks() int {
	if t.cooldown {
		return cooldown
	}
	return 0
}

// anyTheme returns one of all that go together. Half of the walks have none: what is on the server there is handed out most often.
// A carved pool is alone: the cooldown of one that is gone, and what of it moves, is left out.
func randomTheme(random *rand.Rand) theme {
	switch random.IntN(8) {
	case 0, 1, 2:
		return theme{}
	case 3:
		return theme{carves: true, restores: random.IntN(2) == 0}
	default:
		tossed := func() bool { return random.IntN(2) == 0 }
		return theme{cooldown: tossed(), restores: tossed(), retains: tossed(), moves: tossed()}
	}
}

// String names what the theme has.
func (t theme) String() string {
	var words []string
	for word, has := range map[string]bool{
		"arrivals": t.restores, "carves": t.carves, "cooldown": t.cooldown, "moves": t.moves, "retains": t.retains,
	} {
		if has {
			words = append(words, word)
		}
	}
	return "[" + strings.Join(words, " ") + "]"
}
