// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package model is a model checker of the ledger's protocol (docs/design/ledger.md, move.md and
// restore.md). It models one API server, two or three managers, claims of four names, and an
// address space of two addresses, of which some claims request both. It contains no code of Weir.
// It shows that the protocol as designed is safe, and that each precondition is necessary for that.
// Other tests show that the code follows the protocol.
//
// Three of the names are claims of Cluster API, answered by a separate object. The fourth is a
// claim of a Weir kind, answered in admission. A webhook proposes its addresses. The same manager
// or another one records them for the object's UID. Then the API server stores the object or does
// not, and a manager binds the record. A walk also has a theme:
//
//	cooldown   a released record cools down, and is deleted when the cooldown has expired
//	restores   claims are restored with their answers, with or without the record of their
//	           earlier UID, and some conflict
//	retains    the record of a Weir claim is retained for the next claim of its name
//	moves      clusterctl moves claims to another cluster, reservations replace their records,
//	           and some claims come back
//	keeps      the pool keeps an address for the claims of one name, and managers see that late
//	carves     the Weir claim is a pool: a block of both addresses, with claims in it and beside it
//	by status  two of the names are claims of another API: their answers are named after their
//	           addresses, and the claim's status says which one counts
//
// A manager is a set of small state machines: one task for each name of a claim, repair, the pool
// controller, the webhooks of the Weir kinds, the watch and the caches. Each step is one request to
// the server or one look at the index. The environment is everything else: clients create and
// delete claims, processes crash and lose their memory, replies get lost, watches are listed anew,
// finalizers are stripped and time passes. In every other walk, people also edit or delete records.
// A walk lets randomly chosen machines step while others sleep.
//
// After each step the checker compares all addresses ever reported to a client, by an answer of its
// claim's UID or by its status. Where the status says which answer counts, an answer alone reports
// nothing. No two live claims may have overlapping addresses, and no claim may have two. No claim
// may have addresses that are retained for another name, in use in another cluster, or still cooling
// down. After each walk all actors run undisturbed until they converge. Then each claim must be
// answered, or must correctly report exhaustion or a conflict. A record must cover every reported
// address, and no answer or record may outlive its claim.
//
// Rules are the preconditions. Without one of them the same walks find an overlap, a broken
// guarantee or a claim that is stuck. Where random steps reach a state too seldom, a scenario leads
// there. One rule, TerminatingIsNotTakenOver, turned out not to be necessary.
//
// A claim may wait forever where two sides have a right to an address (isContested). Its
// uncommitted record is the older one, and the other claim was restored with its answer, or is
// covered by a reservation whose age is lost. Walks that restore claims do not check the cooldown:
// two managers can each release one of two records of the same name and different UIDs, and then
// both records are deleted without a cooldown. A claim may also wait where the name of its answer is
// taken by one that another claim was restored with, and could not record (lacksName).
//
// Exhaustion is checked only after convergence. A claim that reports exhaustion too early and is
// answered later is not a finding here.
//
// Not modelled:
//
//   - blocks of root pools, and changes of pools, except of what a pool keeps
//   - pools carved from carved pools, and their moves
//   - addresses that claims request, except those of the Weir kind
//   - the other cluster
//   - pause, except while a claim moves, and foreign finalizers
//   - time that runs backwards
//   - optimisations: marks and promises within a process, names of first attempts, take-over
//     delays, lanes of the webhooks
//
// Where the protocol leaves a choice, the model chooses at random: which free address, and which of
// a claim's uncommitted records.
//
// The files:
//
//   - model_test.go: the walks with all rules, and with each one switched off
//   - rules.go, theme.go, scenario*.go: what a walk may do, and how it begins
//   - world.go, environment.go, moves.go, converge.go: the steps of a walk, and its end
//   - server.go, objects.go, answers.go: the API server and what it stores
//   - manager.go, index.go, judge.go: a process, its view of the records, and who wins
//   - task.go, adopt.go, bind.go, release.go, releaser.go: the task of one claim
//   - bystatus.go, stray.go: the task and the repair of a claim that is answered by status
//   - webhooks.go, pool_controller.go, repair.go: the other state machines of a manager
//   - monitor.go, tally.go, trace.go: the checker, its counts, and the history of a walk
package model
