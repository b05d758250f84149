"""Problems as pages: the catalogue, statements, reference solutions."""
