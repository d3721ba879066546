#include "fold/runtime/folded_run.hpp"

#include <utility>

namespace yantra {

FoldedRun::FoldedRun(const Model& model, std::shared_ptr<const Folding> folding, bool shortcuts)
    : model_(model),
      folding_(std::move(folding)),
      guard_(model, *folding_),
      phases_(model, *folding_),
      run_(model, false, cast(shortcuts)) {
    guard_.watch(run_.engine(), run_.executor(), run_.collectives().queues(), links_);
    phases_.ask(run_.network(), run_.collectives().exchange());
    if (shortcuts && run_.network().capabilities().is_its_events) {
        fast_forward_ = std::make_unique<FastForward>(model, *folding_, run_, guard_, phases_);
    }
}

Cast FoldedRun::cast(bool shortcuts) {
    Cast cast;
    cast.actors.emplace(folding_);
    if (folding_->links_are_folded()) {
        cast.network = [this](const Grid& grid, Engine& engine) {
            auto links = std::make_unique<FoldedLinks>(grid, model_.scale, engine, folding_->links);
            links_ = links.get();
            return links;
        };
    }
    cast.watcher = &guard_;
    cast.times = shortcuts ? &phases_ : nullptr;
    return cast;
}

bool FoldedRun::run_for(u64 events) {
    for (u64 i = 0; i < events; ++i) {
        if (run_.over() || run_.mismatch() || !guard_.found().found().empty()) {
            return true;
        }
        if (fast_forward_ && fast_forward_->is_due()) {
            fast_forward_->look();
        }
        guard_.event_begins();
        run_.step();
    }
    return run_.over();
}

Outcome FoldedRun::outcome() const {
    Outcome out = run_.outcome();
    const std::vector<u32>& class_of = folding_->class_of;
    Outcome of_classes;
    std::swap(of_classes.finish, out.finish);
    std::swap(of_classes.compute_busy, out.compute_busy);
    std::swap(of_classes.first_node, out.first_node);
    for (u32 at : class_of) {
        out.finish.push_back(of_classes.finish[at]);
        out.compute_busy.push_back(of_classes.compute_busy[at]);
        out.first_node.push_back(of_classes.first_node[at]);
    }
    out.first_node.push_back(of_classes.first_node.back());
    out.finish_order.clear();
    out.class_of = class_of;
    out.folded = true;
    phases_.add_to(out.messages, out.dimensions);
    if (links_ != nullptr) {
        out.links_on_demand = [folding = folding_, uses = links_->uses(),
                               dimensions = model_.dimensions, tables = model_.tables] {
            const Grid grid(dimensions, tables);
            return FoldedLinks::records(Links(grid), folding->links, uses);
        };
    }
    return out;
}

}  // namespace yantra
