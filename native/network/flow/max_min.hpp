// MaxMin: max-min fair rates of flows over links, by progressive filling (Bertsekas and Gallager,
// "Data Networks", 2nd ed. 1992, section 6.5.2); a change visits only links whose level may change,
// lowest first (Ros-Giralt et al., SIGMETRICS 2020). Trade-off: changing a level visits all classes
// of the link; 16 bytes for each link of each class.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "base/huge_pages.hpp"
#include "base/indexed_heap.hpp"
#include "base/types.hpp"

namespace yantra {

class MaxMin {
public:
    // In any unit, by link.
    explicit MaxMin(std::vector<double> capacity);

    // A flow takes `shares` (default 1) times its rate.
    u32 add_class(std::span<const u32> links, double weight, std::span<const double> shares = {});
    void add_flows(u32 of_class, i64 count);
    void set_capacity(u32 link, double capacity);

    void solve();

    double weight(u32 of_class) const { return weight_of_[of_class]; }
    // None without flows.
    u32 owner(u32 of_class) const { return classes_[of_class].owner; }
    // Of each flow.
    double rate(u32 of_class) const { return weight_of_[of_class] * classes_[of_class].level; }
    double level(u32 link) const { return links_[link].level; }
    u32 links() const { return static_cast<u32>(links_.size()); }
    double carried(u32 link) const {
        const Link& of = links_[link];
        return of.flows == 0 ? 0.0 : of.fixed + (of.own > 0.0 ? of.own * of.level : 0.0);
    }
    // See touched_links().
    void keep_touched() { changed_.keeps_touched = true; }
    std::span<const u32> touched_links() const { return changed_.touched; }
    std::span<const u32> links_of(u32 of_class) const {
        return {&link_of_[classes_[of_class].first], classes_[of_class].hops};
    }

    // Of the last solve().
    std::span<const u32> changed_classes() const { return changed_.classes; }
    std::span<const u32> changed_links() const { return changed_.links; }
    u64 solves() const { return solves_; }
    // Cost of solves: link members visited.
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
        double open = 0.0;         // weights of flows without a rate
        double level = unlimited;
        double most = 0.0;         // no level of `fixed` is higher
        double exact = not_known;  // the level it would take now
        double least = 0.0;        // lower bound of it, while no flow opens or gets more
        u32 flows = 0;
        bool is_dirty = false;
        bool is_changed = false;
        std::vector<Member> members;
    };
    // By link, while filling from nothing.
    struct Filling {
        double left = 0.0;         // of the capacity
        double open = 0.0;         // weights of flows without a rate
        double most = 0.0;         // of the levels of the others
        u32 waiting = 0;           // classes without a rate
    };
    // By the last solve.
    struct Changed {
        std::vector<u32> classes;
        std::vector<u32> links;
        std::vector<u32> touched;   // links; may repeat
        bool keeps_touched = false;
    };
    // Half a cache line.
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

    std::vector<Link> links_;
    HugeVector<Class> classes_;
    std::vector<double> weight_of_;   // by class
    std::vector<u32> flows_of_;       // by class
    HugeVector<u32> link_of_;
    HugeVector<u32> place_of_;
    std::vector<double> share_of_; // empty while all are 1
    IndexedHeap heap_;             // links in question, by level
    std::vector<u32> dirty_;
    std::vector<u32> held_;        // classes held by the link being settled
    Changed changed_;
    double now_ = 0.0;             // all levels below are final
    std::vector<Filling> filling_;
    HugeVector<u8> is_fixed_;          // by class, while filling
    u64 members_ = 0;              // of all links
    u32 fills_left_ = 0;           // solves that fill without trying to find what changed
    u64 looks_ = 0;
    u64 solves_ = 0;
    bool is_solved_ = false;
};

}  // namespace yantra
