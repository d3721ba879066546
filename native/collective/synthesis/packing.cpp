#include "collective/synthesis/packing.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/ensure.hpp"
#include "base/interruption.hpp"
#include "collective/synthesis/flow_network.hpp"

namespace yantra::synthesis {

namespace {

class Packer {
public:
    Packer(u32 ranks, const std::vector<Link>& links, Amount trees)
        : ranks_(ranks), links_(links), waiting_(ranks, trees), network_(ranks + 1), leaving_(ranks) {
        for (u32 rank = 0; rank < ranks; ++rank) {
            given_.push_back(network_.add(ranks, rank, trees));
        }
        for (u32 at = 0; at < links.size(); ++at) {
            arcs_.push_back(network_.add(links[at].start, links[at].end, links[at].capacity));
            leaving_[links[at].start].push_back(at);
        }
    }

    std::vector<Tree> all() {
        for (u32 root = 0; root < ranks_; ++root) {
            growing_.push_back({{root, waiting_[root], {}}, {root}});
            waiting_[root] = 0;
            network_.set(given_[root], 0);
            while (!growing_.empty()) {
                look_up();
                Growing tree = std::move(growing_.back());
                growing_.pop_back();
                grow(tree);
                made_.push_back(std::move(tree.tree));
            }
        }
        return std::move(made_);
    }

private:
    struct Growing {
        Tree tree;
        std::vector<u32> reached;
    };

    void grow(Growing& tree) {
        std::vector<u8> inside(ranks_);
        for (const u32 rank : tree.reached) {
            inside[rank] = 1;
        }
        std::vector<u8> failed(links_.size());
        bool was_fresh = true;
        while (tree.reached.size() < ranks_) {
            look_up();
            if (take_link(tree, inside, failed)) {
                was_fresh = false;
                continue;
            }
            // A link that failed may succeed now.
            ensure(!was_fresh, "some link can be taken, or the trees would not fit");
            std::fill(failed.begin(), failed.end(), 0);
            was_fresh = true;
        }
    }

    bool take_link(Growing& tree, std::vector<u8>& inside, std::vector<u8>& failed) {
        for (const u32 from : tree.reached) {
            const std::vector<u32>& leaving = leaving_[from];
            for (std::size_t turn = 0; turn < leaving.size(); ++turn) {
                const u32 link = leaving[(turn + tree.tree.root) % leaving.size()];
                const u32 to = links_[link].end;
                if (inside[to] != 0 || failed[link] != 0 || network_.capacity(arcs_[link]) == 0) {
                    continue;
                }
                const Amount copies = bearable(tree, link);
                if (copies == 0) {
                    failed[link] = 1;
                    continue;
                }
                if (copies < tree.tree.copies) {
                    Growing rest = tree;
                    rest.tree.copies -= copies;
                    growing_.push_back(std::move(rest));
                    tree.tree.copies = copies;
                }
                network_.set(arcs_[link], network_.capacity(arcs_[link]) - copies);
                tree.tree.links.push_back(link);
                tree.reached.push_back(to);
                inside[to] = 1;
                return true;
            }
        }
        return false;
    }

    Amount bearable(const Growing& tree, u32 link) {
        const u32 from = links_[link].start;
        const u32 to = links_[link].end;
        const Amount most = std::min(network_.capacity(arcs_[link]), tree.tree.copies);
        if (growing_.empty()) {
            Amount others = 0;
            for (const Amount each : waiting_) {
                others += each;
            }
            network_.set(given_[from], unlimited);
            const Amount flow = network_.flow(ranks_, to, others + most);
            network_.set(given_[from], waiting_[from]);
            return std::max<Amount>(0, std::min(most, flow - others));
        }
        return bearable_beside(from, to, most);
    }

    Amount bearable_beside(u32 from, u32 to, Amount most) {
        const u32 source = ranks_ + static_cast<u32>(growing_.size());
        FlowNetwork network(source + 1);
        Amount others = 0;
        for (u32 at = 0; at < links_.size(); ++at) {
            if (const Amount left = network_.capacity(arcs_[at]); left > 0) {
                network.add(links_[at].start, links_[at].end, left);
            }
        }
        for (u32 rank = 0; rank < ranks_; ++rank) {
            others += waiting_[rank];
            network.add(source, rank, rank == from ? unlimited : waiting_[rank]);
        }
        for (u32 at = 0; at < growing_.size(); ++at) {
            const Growing& other = growing_[at];
            others += other.tree.copies;
            network.add(source, ranks_ + at, other.tree.copies);
            for (const u32 rank : other.reached) {
                network.add(ranks_ + at, rank, unlimited);
            }
        }
        const Amount flow = network.flow(source, to, others + most);
        return std::max<Amount>(0, std::min(most, flow - others));
    }

    u32 ranks_;
    const std::vector<Link>& links_;
    std::vector<Amount> waiting_;  // of each rank, the trees that have not begun to grow
    FlowNetwork network_;
    std::vector<u32> given_;
    std::vector<u32> arcs_;
    std::vector<std::vector<u32>> leaving_;
    std::vector<Growing> growing_;
    std::vector<Tree> made_;
};

}  // namespace

std::vector<Tree> pack_trees(u32 ranks, const std::vector<Link>& links, Amount trees) {
    return Packer(ranks, links, trees).all();
}

}  // namespace yantra::synthesis
