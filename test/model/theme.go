// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"math/rand/v2"
	"strings"
)

// theme is what a walk has besides claims that are created and deleted.
type theme struct {
	cooldown bool // the pool has a cooldown
	restores bool // claims are restored with their answers
	retains  bool // records of Weir claims are retained for the next claim
	moves    bool // claims move to another cluster, and some come back
	carves   bool // the Weir claim is a pool, carved from the root
	keeps    bool // the pool keeps an address for the claims of one name

	statusCommits bool // claims of two names are answered by status
}

// cooldown is how many ticks a released record blocks its addresses.
const cooldown = 2

func (t theme) cooldownTicks() int {
	if t.cooldown {
		return cooldown
	}
	return 0
}

// randomTheme returns a theme. In every third walk claims are answered by status.
func randomTheme(random *rand.Rand) theme {
	about := randomPoolTheme(random)
	about.statusCommits = random.IntN(3) == 0
	return about
}

// randomPoolTheme returns a theme. Three of eight are empty: addresses are reused most often there. A
// carved pool goes only with restored claims. The cooldown and the moves of a carved pool are not
// modelled.
func randomPoolTheme(random *rand.Rand) theme {
	switch random.IntN(8) {
	case 0, 1, 2:
		return theme{}
	case 3:
		return theme{carves: true, restores: random.IntN(2) == 0}
	default:
		tossed := func() bool { return random.IntN(2) == 0 }
		return theme{cooldown: tossed(), restores: tossed(), retains: tossed(), moves: tossed(), keeps: random.IntN(4) == 0}
	}
}

// String lists what the theme has.
func (t theme) String() string {
	var words []string
	for word, has := range map[string]bool{
		"restores": t.restores, "carves": t.carves, "cooldown": t.cooldown, "moves": t.moves, "retains": t.retains,
		"keeps": t.keeps, "statusCommits": t.statusCommits,
	} {
		if has {
			words = append(words, word)
		}
	}
	return "[" + strings.Join(words, " ") + "]"
}
