// MaxMin: max-min fair rates of flows over links, kept up to date as flows come and go.
//
// The rates are those of progressive filling (Bertsekas and Gallager, "Data Networks", 2nd ed. 1992, section
// 6.5.2): all rates grow alike until a link is full, the flows over it keep theirs, and so on. A flow's rate is
// its weight times the level of its owner, the link that held it up. A link's level follows from lower levels
// alone. So after a change only links whose level can have changed are looked at, lowest level first: one that is
// too full, that could give more, or at which flows wait for a rate, takes its level again, and takes over the flows
// that have a higher one elsewhere (the order of Dijkstra's algorithm, for levels in place of distances; bottlenecks
// that depend on each other in this way are in Ros-Giralt et al., "On the bottleneck structure of
// congestion-controlled networks", SIGMETRICS 2020). When no link is in question the rates are max-min fair, by the
// definition. Where that takes longer than to fill all from nothing, as where every link depends on every other, all
// is filled from nothing: each link is looked at once. Flows over the same links
// are one class. A flow may take a part of its rate of a link, where it is divided among ways, or some times its
// rate, where a link stands for many: filling is the same with these as factors. Trade-off: a change of one link's level goes through
// all classes over it; memory is 16 bytes for each link of each class.
#pragma once

#include <limits>
#include <span>

#include "base/huge_pages.hpp"
#include "base/indexed_heap.hpp"
#include "base/types.hpp"
#include "base/vector.hpp"

namespace yantra {

class MaxMin {
public:
    // The capacity of each link, in any unit.
    explicit MaxMin(Vector<double> capacity);

    // A class of flows over some links, one or more and each once; it has none yet. A flow takes `shares` times
    // its rate of each link, and all of it where no shares are said.
    u32 add_class(std::span<const u32> links, double weight, std::span<const double> shares = {});
    // So many flows more, or fewer. Rates follow with solve(), as for the next.
    void add_flows(u32 of_class, i64 count);
    void set_capacity(u32 link, double capacity);

    void solve();

    double weight(u32 of_class) const { return weight_of_[of_class]; }
    // The link that holds up the flows of a class; none where there are no flows.
    u32 owner(u32 of_class) const { return classes_[of_class].owner; }
    // The rate of each flow of a class.
    double rate(u32 of_class) const { return weight_of_[of_class] * classes_[of_class].level; }
    // The rate, over its weight, of flows that a link holds up.
    double level(u32 link) const { return links_[link].level; }
    u32 links() const { return static_cast<u32>(links_.size()); }
    // How many flows use a link.
    u64 flows_over(u32 link) const { return links_[link].flows; }
    double capacity(u32 link) const { return links_[link].capacity; }
    // What all flows over a link have together.
    double carried(u32 link) const {
        const Link& of = links_[link];
        return of.flows == 0 ? 0.0 : of.fixed + (of.own > 0.0 ? of.own * of.level : 0.0);
    }
    // Keeps the links whose carried() may be another since the solve before the last; see touched_links().
    void keep_touched() { keeps_touched_ = true; }
    std::span<const u32> touched_links() const { return touched_links_; }
    std::span<const u32> links_of(u32 of_class) const {
        return {&link_of_[classes_[of_class].first], classes_[of_class].hops};
    }

    // Of the last solve(): the classes that may have another owner, and the links whose level may be another.
    std::span<const u32> changed_classes() const { return changed_classes_; }
    std::span<const u32> changed_links() const { return changed_links_; }
    u64 solves() const { return solves_; }
    // What solves have cost: members of links that were looked at.
    u64 looks() const { return looks_; }

private:
    static constexpr double unlimited = std::numeric_limits<double>::infinity();
    static constexpr double not_known = -1.0;

    struct Member {
        u32 hop = 0;               // the place in link_of_
        u32 of_class = 0;
    };
    struct Link {
        double capacity = 0.0;
        double fixed = 0.0;        // rates of flows that others hold up
        double own = 0.0;          // weights of flows that it holds up
        double open = 0.0;         // weights of flows that have no rate yet
        double level = unlimited;
        double most = 0.0;         // no level of `fixed` is higher
        double exact = not_known;  // the level that it would take now
        double least = 0.0;        // that level is not below this, as long as no flow opens or gets more
        u32 flows = 0;
        bool is_dirty = false;
        bool is_changed = false;
        Vector<Member> members;
    };
    // By link, while all is filled from nothing.
    struct Filling {
        double left = 0.0;         // of the capacity
        double open = 0.0;         // weights of flows that have no rate yet
        double most = 0.0;         // of the levels of those that have one
        u32 waiting = 0;           // classes that have none
    };
    // What is looked at for every member of a link: half a line of the cache, beside whose class it is.
    struct alignas(32) Class {
        double load = 0.0;         // weight times flows
        double level = 0.0;
        u32 owner = none;          // none: open, or without flows
        u32 first = 0;             // of its hops
        u32 hops = 0;
        bool is_changed = false;
    };

    double share(u32 hop) const { return share_of_.empty() ? 1.0 : share_of_[hop]; }
    void add_shares(std::size_t hops, std::span<const double> shares);
    void begin_changes();
    void touch(u32 link);
    void open(u32 link, double load);
    void note(u32 of_class);
    void note_link(u32 link);
    void enter(u32 of_class);
    void leave(u32 of_class);
    void take_out(const Class& of);
    void put_open(Class& of);
    void flush();
    double key_of(const Link& link) const;
    bool run(u64 most_looks);
    void process(u32 link);
    double evaluate(u32 link, double from);
    void settle(u32 link, double level);
    void hold(u32 link, Class& of, double level);
    void fill();
    void fix(u32 link, double level);

    Vector<Link> links_;
    HugeVector<Class> classes_;
    Vector<double> weight_of_;   // by class
    Vector<u32> flows_of_;       // by class
    // By hop: the link, and the place among the link's members.
    HugeVector<u32> link_of_;
    HugeVector<u32> place_of_;
    Vector<double> share_of_; // none as long as all are 1
    IndexedHeap heap_;             // links in question, by the level at which they are
    Vector<u32> dirty_;
    Vector<u32> held_;        // of the link that is being settled: classes that it holds up
    Vector<u32> changed_classes_;
    Vector<u32> changed_links_;
    Vector<u32> touched_links_;   // some more than once
    double now_ = 0.0;             // all levels below are final
    Vector<Filling> filling_;
    HugeVector<u8> is_fixed_;          // by class, at the same time
    u64 members_ = 0;              // of all links
    u32 fills_left_ = 0;           // solves in which it is not tried to find what has changed
    u64 looks_ = 0;
    u64 solves_ = 0;
    bool is_solved_ = false;
    bool keeps_touched_ = false;
};

}  // namespace yantra
