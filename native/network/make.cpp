#include "network/make.hpp"

#include "network/analytical.hpp"
#include "network/store_and_forward.hpp"

namespace yantra::inline YANTRA_RUN {

std::unique_ptr<NetworkModel> make_network(const Model& model, const Grid& grid, Engine& engine) {
    switch (model.network) {
        case NetworkKind::analytical:
            return std::make_unique<AnalyticalNetwork>(grid, model.scale, engine,
                                                       model.quirks.lowest_dimension_only);
        case NetworkKind::store_and_forward:
            return std::make_unique<StoreAndForwardNetwork>(grid, model.scale, engine);
    }
    fail("a network of no known kind");
}

}  // namespace yantra
