#include "fold/runtime/folded_links.hpp"

#include <utility>
#include <vector>

#include "base/ensure.hpp"

namespace yantra {

FoldedLinks::FoldedLinks(const Grid& grid, TimeScale scale, Engine& engine,
                         const LinkClasses& classes)
    : StoreAndForwardNetwork(grid, scale, engine, classes.dimension),
      classes_(classes),
      offered_(classes.dimension.size()) {
    std::vector<u32> one_of_class(classes.dimension.size());
    for (u32 link = 0; link < classes.class_of.size(); ++link) {
        if (classes.class_of[link] != none) {
            one_of_class[classes.class_of[link]] = link;
        }
    }
    probe_.stand_for(classes.class_of, std::move(one_of_class));
}

void FoldedLinks::report_to(InOneOrder in_one_order, Clash clash) {
    sent_in_one_order_ = std::move(in_one_order);
    clash_ = std::move(clash);
}

void FoldedLinks::send(const Message& message, Notice arrived, Notice departed) {
    const u32 transit = accept(message, arrived, departed);
    if (crossed_.size() <= transit) {
        crossed_.resize(transit + 1, none);
    }
    take_on(transit, false);
    cause_ = unknown;
}

void FoldedLinks::take_on(u32 at, bool passes) {
    Transit& transit = transits_[at];
    Offered now{queue_.now(), cause_, passes};
    if (passes) {
        now.cause = now.tick - times_of(links_[crossed_[at]].dimension, transit.bytes).hop;
    }
    const u32 link = routes_.next(transit.stop, transit.dst);
    const u32 of_class = classes_.class_of[link];
    ensure(of_class != none, "a message on a link that none was to pass");
    Offered& last = offered_[of_class];
    if (last.tick == now.tick && !in_one_order(last, now)) {
        clash_(routes_, link);
    }
    last = now;
    crossed_[at] = of_class;
    offer(of_class, at);
}

// Transitive: by a message between them.
bool FoldedLinks::in_one_order(const Offered& first, const Offered& second) const {
    if (first.passes || second.passes) {
        return first.passes && second.passes && first.cause != second.cause;
    }
    return first.cause != unknown && second.cause != unknown &&
           sent_in_one_order_(first.cause, second.cause);
}

std::vector<LinkUse> FoldedLinks::uses() const {
    std::vector<LinkUse> uses;
    for (const Link& link : links_) {
        uses.push_back(link.use);
    }
    return uses;
}

std::vector<LinkUse> FoldedLinks::dimensions() const {
    std::vector<LinkUse> total(grid_.dimensions());
    for (u32 at = 0; at < links_.size(); ++at) {
        LinkUse& sum = total[links_[at].dimension];
        sum.bytes += links_[at].use.bytes * classes_.count[at];
        sum.messages += links_[at].use.messages * classes_.count[at];
        sum.busy_ticks += links_[at].use.busy_ticks * classes_.count[at];
    }
    return total;
}

std::vector<LinkRecord> FoldedLinks::records(const Links& links, const LinkClasses& classes,
                                             const std::vector<LinkUse>& uses) {
    std::vector<LinkRecord> records;
    for (u32 link = 0; link < links.count(); ++link) {
        const u32 at = classes.class_of[link];
        if (at != none && uses[at].messages > 0) {
            const auto [from, to] = links.ends_of(link);
            records.push_back({classes.dimension[at], from, to, uses[at]});
        }
    }
    return records;
}

}  // namespace yantra
