// Package catalog keeps the daemon's index in step with the store, and answers from it.
//
// Enters: what prepares publish and removals take, and the store itself when the two are
// compared. Leaves: lists of environments in milliseconds, whatever the store's file
// system is doing.
//
// The store is the truth. An index that is damaged is put aside and made anew from it; an
// answer that the index cannot give yet, because it was never compared with the store, is
// left to who reads the store.
package catalog
