#include "fold/runtime/folded_run.hpp"

#include <utility>
#include <vector>

#include "base/ensure.hpp"
#include "base/interruption.hpp"
#include "fold/runtime/folded_ways.hpp"
#include "network/level.hpp"
#include "run/charges.hpp"

namespace yantra {

FoldedRun::FoldedRun(const Model& model, std::shared_ptr<const Folding> folding,
                     std::unique_ptr<Shortcuts> shortcuts)
    : model_(model),
      folding_(std::move(folding)),
      guard_(model, *folding_),
      shortcuts_(std::move(shortcuts)),
      run_(model, false, cast()) {
    guard_.watch(run_.engine(), run_.executor(), run_.collectives().queues(), links_);
    if (shortcuts_) {
        next_look_ = shortcuts_->watch(run_, guard_);
    }
}

Cast FoldedRun::cast() {
    Cast cast;
    cast.actors.emplace(folding_);
    if (folding_->ports_are_folded) {
        cast.network = [this](const Grid& grid, Engine& engine) {
            auto ports = std::make_unique<PortNetwork>(grid, model_.semantics.scale, engine,
                                                       model_.semantics.quirks.lowest_dimension_only, port_classes());
            ports_ = ports.get();
            return ports;
        };
    } else if (folding_->links_are_folded()) {
        cast.network = [this](const Grid& grid, Engine& engine) {
            auto links = std::make_unique<FoldedLinks>(grid, model_.semantics.scale, engine, folding_->links);
            links_ = links.get();
            return links;
        };
    }
    if (folding_->flows_are_folded()) {
        cast.network = [this](const Grid& grid, Engine& engine) {
            const NetworkLevel* const level = find_network_level(model_.network.choice.level);
            ensure(level != nullptr && level->make_over != nullptr, "a network that cannot be over classes of links");
            auto ways = std::make_unique<FoldedWays>(
                model_, grid, folding_->flows, [this](u32 from, u32 to) { guard_.messages_come_at_once(from, to); });
            return level->make_over(Simulation::network_setup(model_, grid, engine), std::move(ways));
        };
    }
    cast.watcher = &guard_;
    cast.times = shortcuts_ ? &shortcuts_->times() : nullptr;
    return cast;
}

bool FoldedRun::run_for(u64 events) {
    for (u64 i = 0; i < events; ++i) {
        look_up();
        if (run_.over() || run_.mismatch() || !guard_.found().found().empty()) {
            return true;
        }
        if (is_time_to_look()) {
            next_look_ = shortcuts_->look();
        }
        guard_.event_begins();
        run_.step();
    }
    return run_.over();
}

Outcome FoldedRun::of_all(Outcome out) const {
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
    if (shortcuts_) {
        shortcuts_->add_to(out.messages, out.dimensions);
    }
    write_links(out);
    if (out.finished && Charges::are_in(model_)) {
        add_charges(model_, Grid(model_.network.dimensions, model_.network.tables), jobs_of(model_), out);
    }
    return out;
}

PortClasses FoldedRun::port_classes() const {
    PortClasses classes;
    if (folding_->links_are_folded()) {
        classes.of_links = &folding_->links;
    } else {
        classes.of_ranks = &folding_->class_of;
        classes.ranks = &folding_->count;
    }
    return classes;
}

void FoldedRun::write_links(Outcome& out) const {
    if (links_ != nullptr) {
        out.links_on_demand = [folding = folding_, uses = links_->uses(),
                               dimensions = model_.network.dimensions, tables = model_.network.tables] {
            const Grid grid(dimensions, tables);
            return FoldedLinks::records(Links(grid), folding->links, uses);
        };
    }
    if (ports_ != nullptr) {
        out.links_on_demand = [folding = folding_, classes = port_classes(), uses = ports_->uses(),
                               dimensions = model_.network.dimensions, tables = model_.network.tables] {
            return PortTable::records_of(Grid(dimensions, tables), classes, uses);
        };
    }
}

}  // namespace yantra
