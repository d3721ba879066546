// FoldedRun: a run of one rank for each class of ranks that do the same.
//
// A client of the run: it hands in the classes as actors, a network that keeps one link per class, a
// guard over the order of events of one tick and, unless the run is recorded, shortcuts. A message of a representative to rank p stands for those of
// its whole class. It reaches the representative of p's class as the message of the member's own peer:
// from the same class, over the same distance, so in the same tick.
#pragma once

#include <memory>

#include "fold/folding.hpp"
#include "fold/runtime/order_guard.hpp"
#include "fold/runtime/shortcuts.hpp"
#include "network/ports.hpp"
#include "run/simulation.hpp"

namespace yantra::inline YANTRA_RUN {

class FoldedRun {
public:
    // `shortcuts`: may be null.
    FoldedRun(const Model& model, std::shared_ptr<const Folding> folding,
              std::unique_ptr<Shortcuts> shortcuts);

    void start() { run_.start(); }
    // Handles at most `events` events. True when none is left, when ranks entered different
    // collectives, or when the order of two events is not that of all ranks they stand for.
    bool run_for(u64 events);

    // What every rank did, by that of its class.
    Outcome outcome() const { return of_all(run_.outcome()); }
    Outcome take_outcome() { return of_all(run_.take_outcome()); }
    // Why the run tells nothing of the whole; empty if it does.
    const TickOrder& order() const { return guard_.found(); }
    std::optional<Mismatch> mismatch() const { return run_.mismatch(); }
    u64 now() const { return run_.now(); }
    u64 nodes_done() const { return run_.nodes_done(); }
    // Nodes whose times were written down without events.
    u64 nodes_skipped() const { return shortcuts_ ? shortcuts_->nodes_skipped() : 0; }
    Recorder& recorder() { return run_.recorder(); }
    // The run of the representatives.
    Simulation& simulation() { return run_; }

private:
    Cast cast();
    PortClasses port_classes() const;
    void write_links(Outcome& out) const;
    Outcome of_all(Outcome out) const;
    bool is_time_to_look() {
        return run_.executor().state().actors[next_look_.actor].done >= next_look_.nodes &&
               run_.engine().queue.tick_is_over();
    }

    const Model& model_;
    std::shared_ptr<const Folding> folding_;
    OrderGuard guard_;
    std::unique_ptr<Shortcuts> shortcuts_;
    Shortcuts::NextLook next_look_;
    FoldedLinks* links_ = nullptr;
    PortNetwork* ports_ = nullptr;
    Simulation run_;
};

}  // namespace yantra
