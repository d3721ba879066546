// FoldedRun: a run of one rank for each class, with one link per class, a guard of order within a
// tick, and shortcuts unless recorded. A message to rank p reaches p's representative as that of
// its own peer: same class and distance, so same tick.
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
    // True at the end, or if ranks entered different collectives or an order may differ within a
    // class.
    bool run_for(u64 events);

    Outcome outcome() const { return of_all(run_.outcome()); }
    Outcome take_outcome() { return of_all(run_.take_outcome()); }
    const TickOrder& order() const { return guard_.found(); }
    std::optional<Mismatch> mismatch() const { return run_.mismatch(); }
    u64 now() const { return run_.now(); }
    u64 nodes_done() const { return run_.nodes_done(); }
    u64 nodes_skipped() const { return shortcuts_ ? shortcuts_->nodes_skipped() : 0; }
    Recorder& recorder() { return run_.recorder(); }
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
