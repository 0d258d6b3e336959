// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package model is an executable model of the ledger's protocol (docs/design/ledger.md, move.md and
// restore.md): one API server, two or three managers, claims of four names and a space of two
// addresses, of which some claims want both. It contains no code of Weir's. What it shows is that the
// protocol as designed holds, and that each precondition is needed for that; whether the code follows
// the protocol is for other tests to show.
//
// Three of the names are of Cluster API's claims, with an answer beside them. The fourth is of a kind of Weir's own, answered in
// admission: proposed, recorded for the object's UID by the same manager or another, stored or not, bound afterwards. Besides that a
// walk has a theme, which says what else there is:
//
//	cooldown   what is let go of cools, and is dropped by the clock
//	arrivals   claims arrive with their answers, with or without the record of their earlier UID, and some conflict
//	retains    what an own claim had is kept for the next one of its name
//	moves      clusterctl takes claims to another cluster, records are held, some claims come back
//	carves     the own claim is a pool: a block of both addresses, with claims in it and beside it
//
// A manager is a set of small machines, which take one step at a time: one task for each name of a claim, repair, the keeper of
// what cools or moves, the webhooks of the own kinds, the watch, the caches. One step is one request to the server or one look at the
// index. A walk lets randomly chosen machines step and others sleep, while clients create and delete claims, processes crash and lose
// their memory, replies get lost, watches are listed anew, finalizers are stripped, time passes, and, in every other walk, people write
// to records or delete them. After each step no two claims that live may have been told overlapping addresses, ever, by an answer of
// their UID or by their status, and none two addresses; and nobody may have been told what is retained for another name, in use in
// another cluster, or still to cool. After each walk everybody works on undisturbed: then every claim must be answered, or have been
// told rightly that nothing is free or who has come with a duplicate, what claims were told be recorded, and nothing be left of claims
// that are gone.
//
// Rules are the preconditions. Without one of them the same walks find the same address twice, a broken promise, or a claim that is
// stuck. What random steps reach too seldom begins with a scenario. One rule, LeaveMarkedAlone, turned out not to be needed.
//
// Where two sides both have a right to an address, a claim may wait for good (isContested): its half-made record is the older one, and
// the other came with its answer, or is held by a record whose age is lost. And where claims arrive nobody is held to the cooldown: two
// managers that each give up one of two namesakes' records drop both.
//
// "Exhausted" is checked at rest only: a claim that is told so too early and answered later is no finding here.
//
// Not modelled: the blocks of root pools and changes of pools; pools carved from carved pools, and what of those moves; addresses that
// Cluster API's claims ask for, or that a pool keeps for them; the other cluster; pause but while a claim moves, and foreign
// finalizers; time that runs backwards; and everything that is economy only, such as marks and promises within a process, names of
// first attempts, take-over delays, lanes of the webhooks. Where the protocol leaves a choice (which free address, which of a claim's
// half-made records), the model chooses at random.
package model
