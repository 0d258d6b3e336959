// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import "testing"

// TestWhatIsDoneAboutAClaim: every row of the table decides a case, and goes before the rows after it.
func TestWhatIsDoneAboutAClaim(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		facts facts
		want  action
	}{
		"a new claim gets an address":                            {facts{}, allocateAfresh},
		"a new claim of a closed pool gets none":                 {facts{offer: nothingNew}, refuseNew},
		"a restored claim waits for what it had":                 {facts{arrived: true}, awaitAnswer},
		"a restored claim of a closed pool waits as well":        {facts{arrived: true, offer: nothingNew}, awaitAnswer},
		"a claim that was told gets the same once more":          {facts{told: true}, remakeAnswer},
		"also of a closed pool":                                  {facts{told: true, offer: nothingNew}, remakeAnswer},
		"also where it was restored":                             {facts{told: true, arrived: true}, remakeAnswer},
		"of several answers none is chosen":                      {facts{answer: its, several: true, samePool: true}, refuseSeveral},
		"of several without owner none is chosen":                {facts{answer: unowned, made: true, several: true, samePool: true}, refuseSeveral},
		"of several none is chosen for a closed pool":            {facts{answer: its, several: true, offer: nothingNew}, refuseSeveral},
		"several of a paused pool wait":                          {facts{answer: its, several: true, offer: halted}, withhold},
		"its answer is adopted":                                  {facts{answer: its, made: true, samePool: true}, adoptAnswer},
		"its answer is adopted, although the claim was restored": {facts{answer: its, returned: true, arrived: true}, adoptAnswer},
		"its answer is adopted, of a closed pool too":            {facts{answer: its, offer: nothingNew}, adoptAnswer},
		"its answer is adopted, restored to a closed pool":       {facts{answer: its, returned: true, offer: nothingNew}, adoptAnswer},
		"its answer is adopted, while it is deleted too":         {facts{answer: its, terminating: true}, adoptAnswer},
		"an answer that lost its owner is adopted":               {facts{answer: unowned, made: true, samePool: true}, adoptAnswer},
		"an answer that lost its owner, of a closed pool":        {facts{answer: unowned, made: true, samePool: true, offer: nothingNew}, adoptAnswer},
		"an answer that came back is restored":                   {facts{answer: anothers, made: true, returned: true, samePool: true}, restoreAnswer},
		"an answer that came back without owner is restored":     {facts{answer: unowned, made: true, returned: true, samePool: true}, restoreAnswer},
		"an answer that came back and is deleted is restored":    {facts{answer: unowned, made: true, returned: true, terminating: true}, restoreAnswer},
		"an answer that came back to a closed pool is restored":  {facts{answer: anothers, made: true, returned: true, samePool: true, offer: nothingNew}, restoreAnswer},
		"an answer of another pool that came back is rejected":   {facts{answer: anothers, made: true, returned: true}, rejectAnswer},
		"also one without owner, and where its pool is closed":   {facts{answer: unowned, made: true, returned: true, offer: nothingNew}, rejectAnswer},
		"an answer that is going and names nobody is discarded":  {facts{answer: unowned, made: true, samePool: true, terminating: true}, discardAnswer},
		"another claim's answer is discarded":                    {facts{answer: anothers, made: true, samePool: true}, discardAnswer},
		"another claim's answer is discarded of a closed pool":   {facts{answer: anothers, made: true, samePool: true, offer: nothingNew}, discardAnswer},
		"Weir's answer of another pool is discarded":             {facts{answer: unowned, made: true}, discardAnswer},
		"a foreign answer of another pool is rejected":           {facts{answer: unowned}, rejectAnswer},
		"a foreign answer asks for its address":                  {facts{answer: unowned, samePool: true}, reserveAsked},
		"a foreign answer asks a closed pool for nothing":        {facts{answer: unowned, samePool: true, offer: nothingNew}, refuseNew},
		"what is held for a foreign answer is adopted":           {facts{answer: unowned, held: true, samePool: true}, adoptHeld},
		"what is held for one, of a closed pool too":             {facts{answer: unowned, held: true, samePool: true, offer: nothingNew}, adoptHeld},
		"a claim of a paused pool waits":                         {facts{offer: halted}, withhold},
		"an answered claim of a paused pool waits":               {facts{offer: halted, answer: its, recorded: true}, withhold},
		"a restored claim of a paused pool waits":                {facts{offer: halted, arrived: true}, withhold},
		"a claim of a hidden pool is told":                       {facts{offer: hidden}, withhold},
		"an unrecorded answer of a hidden pool is withheld":      {facts{offer: hidden, answer: its}, withhold},
		"a recorded answer stays when its pool is hidden":        {facts{offer: hidden, answer: its, recorded: true}, keepAnswer},
		"a recorded answer stays when its pool cannot be read":   {facts{offer: unknown, answer: its, recorded: true}, keepAnswer},
		"an unrecorded answer of an unknown pool says nothing":   {facts{offer: unknown, answer: its}, refuseClaim},
		"a claim of an unknown pool is refused":                  {facts{offer: unknown}, refuseClaim},
		"a restored claim of an unknown pool is refused":         {facts{offer: unknown, arrived: true}, refuseClaim},
	} {
		if got := row.facts.decide(); got != row.want {
			t.Errorf("%s: %s, want %s", name, got, row.want)
		}
	}
}

// TestWhatBecomesOfARecordUnderTheName is the other table: of the records under the name of a claim that lives.
func TestWhatBecomesOfARecordUnderTheName(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		record underName
		want   fate
	}{
		"its record stays before it has an answer":             {underName{its: true, answer: none}, keepRecord},
		"its record stays beside another claim's answer":       {underName{its: true, answer: anothers}, keepRecord},
		"its record of its answer stays":                       {underName{its: true, answer: its, carried: true, won: true}, keepRecord},
		"its record of something else that never won is void":  {underName{its: true, answer: its}, dropVoid},
		"its record of something else that won is released":    {underName{its: true, answer: its, won: true}, releaseOther},
		"its reservation of what another of the name has ends": {underName{its: true, answer: its, reserved: true, heldOn: true}, endReservation},
		"a former record stays until the claim's own has won":  {underName{answer: its, carried: true}, keepRecord},
		"a former record is void when its own has won":         {underName{answer: its, carried: true, won: true}, dropVoid},
		"a former record is void when its own was first":       {underName{answer: its, carried: true, precedes: true}, dropVoid},
		"a reservation ends when its own record says the same": {underName{answer: its, carried: true, won: true, reserved: true, heldOn: true}, endReservation},
		"a reservation that nothing replaces is only void":     {underName{answer: its, carried: true, won: true, reserved: true}, dropVoid},
		"a former record of an answer that waits stays":        {underName{answer: unowned, made: true, carried: true}, keepRecord},
		"a former record of another's answer stays":            {underName{answer: anothers, carried: true}, keepRecord},
		"a dead claim's record goes beside a foreign answer":   {underName{answer: unowned, carried: true}, releaseRecord},
		"a dead claim's record of something else goes":         {underName{answer: its}, releaseRecord},
		"a dead claim's record goes where there is no answer":  {underName{answer: none}, releaseRecord},
	} {
		if got := row.record.decide(); got != row.want {
			t.Errorf("%s: %s, want %s", name, got, row.want)
		}
	}
}
